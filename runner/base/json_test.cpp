#include "base/json.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

std::vector<std::string> faults(const std::string& text) {
  JsonFile file{"f.json", text, {}};
  Diagnostics diagnostics;
  parse_json(file, diagnostics);
  std::vector<std::string> lines;
  for (const Diagnostic& diagnostic : diagnostics) lines.push_back(to_string(diagnostic));
  return lines;
}

TEST(Json, FindsValuesAndKeysByPointer) {
  const std::string text = "{\n  \"a\": {\"b/c\": [1, 22,\n 333]},\n  \"\xc3\xbc\": 7, \"z\": 8}";
  const auto at = [&](const char* pointer, bool key = false) {
    const Position position = locate(text, pointer, key);
    return std::pair(position.line, position.column);
  };
  EXPECT_EQ(at(""), std::pair(1, 1));
  EXPECT_EQ(at("/a/b~1c/1"), std::pair(2, 20));
  EXPECT_EQ(at("/a/b~1c/2"), std::pair(3, 2));
  EXPECT_EQ(at("/a/b~1c", true), std::pair(2, 9));
  EXPECT_EQ(at("/z"), std::pair(4, 16));  // columns count characters, not bytes
  EXPECT_EQ(at("/a/none/deeper"), std::pair(2, 8));
}

TEST(Json, RefusesWhatOtherParsersReadInSilence) {
  EXPECT_TRUE(faults("{\"a\": [1, -1.5e3, \"x\", null, true]}").empty());
  EXPECT_EQ(faults("{\"a\": 1, \"a\": 2}"),
            std::vector<std::string>{
                "f.json:1:10: /a: found the same key for the second time in one object"});
  EXPECT_EQ(faults("[18446744073709551616]").size(), 1U);
  EXPECT_TRUE(faults("[18446744073709551615, -9223372036854775808]").empty());
  EXPECT_EQ(faults("[-0]").size(), 1U);
  EXPECT_TRUE(faults("[-0.0]").empty());
  EXPECT_EQ(faults("[1e999]").size(), 1U);
}

TEST(Json, SaysWhereTheTextIsBroken) {
  const auto lines = faults("{\n  \"a\": 1,\n}");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("f.json:3:1: this is not JSON:"), 0U) << lines[0];
  EXPECT_EQ(faults("").size(), 1U);
  EXPECT_EQ(faults("{\"a\": \"\xff\"}").size(), 1U);
}

TEST(Json, RefusesDeepNestingWithoutRecursion) {
  EXPECT_EQ(faults(std::string(1'000'000, '[')).size(), 1U);
  EXPECT_TRUE(faults(std::string(64, '[') + std::string(64, ']')).empty());
  EXPECT_EQ(faults(std::string(65, '[') + std::string(65, ']')).size(), 1U);
}

TEST(Json, KnowsTheLinesOfElements) {
  const std::string text = "{\n\"a\": [1, {\"b\": [0,\n0]},\n\n[2]\n, 3], \"c\": []}";
  EXPECT_EQ(lines_of_elements(text, "/a"), (std::vector<int>{2, 2, 5, 6}));
  EXPECT_EQ(lines_of_elements(text, "/a/1/b"), (std::vector<int>{2, 3}));
  EXPECT_TRUE(lines_of_elements(text, "/c").empty());
  EXPECT_TRUE(lines_of_elements(text, "/x").empty());
  // Were the text walked for each of them, or the way to each copied, this would take minutes.
  std::string many = "[";
  std::string pointer = "/0", end = "]";
  for (int depth = 0; depth < 60; ++depth) {
    const std::string key(120, 'k');
    many += "{\"" + key + "\": ";
    pointer += "/" + key;
    end = "}" + end;
  }
  many += "[0";
  for (int i = 1; i < 200'000; ++i) many += ",\n0";
  JsonFile file{"many.json", many + "]" + end, {}};
  Diagnostics diagnostics;
  parse_json(file, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(lines_of_elements(file.text, pointer).back(), 200'000);
}

}  // namespace
}  // namespace lockstep
