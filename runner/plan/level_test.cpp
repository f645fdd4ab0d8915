#include "plan/level.h"

#include <gtest/gtest.h>

#include "cases/content.h"

namespace lockstep {
namespace {

CaseFile case_file(const std::string& id, const std::string& text) {
  Diagnostics diagnostics;
  CaseFile file = parse_case_file({"cases/" + id + ".json", text, {}}, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  return file;
}

std::string faults(const std::string& text) {
  const std::vector<CaseFile> suite = {
      case_file("bugs/1", R"({"tags": ["silent"], "matrix": {"dim": [0, 1]}})"),
      case_file("bugs/2", "{}"),
      case_file("sweeps/unary", R"({"sweep": {}, "matrix": {"dtype": ["float16"]}})")};
  JsonFile file{"level.json", text, {}};
  Diagnostics diagnostics;
  parse_json(file, diagnostics);
  decode_level(file, diagnostics);
  check_level(file, suite, {{"eager", "inductor"}, {"cpu", "cuda"}}, diagnostics);
  std::string said;
  for (const Diagnostic& diagnostic : diagnostics) said += to_string(diagnostic) + "\n";
  return said;
}

std::string of_terms(const std::string& terms) {
  return faults(R"({"format": 1, "select": [)" + terms + "]}");
}

TEST(Level, TellsAllThatIsWrongAtOnce) {
  const std::string said =
      faults(R"({"format": 1, "title": 1, "select": ["status:typo", 3, "tga:x"], "x": 2})");
  for (const char* part : {"unknown key `x`", "/title: found the number 1",
                           "/select/0: found `status:typo`", "/select/1: found the number 3",
                           "/select/2: found the unknown filter `tga:`", "did you mean `tag`?"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
  }
  EXPECT_NE(of_terms("").find("at least one filter term"), std::string::npos);
}

TEST(Level, FrozenNeedsIdsAndDigests) {
  EXPECT_EQ(faults(R"({"format": 1, "instances": {"bugs/1[dim=0]": "0123456789abcdef"}})"), "");
  EXPECT_NE(faults(R"({"format": 1})").find("`select`"), std::string::npos);
  for (const char* instances :
       {"{}", "[]", "1", R"({"bugs/1@cpu": "0"})", R"({"bugs/*": "0"})", R"({"bugs/1": 1})"}) {
    EXPECT_NE(faults(std::string(R"({"format": 1, "instances": )") + instances + "}"), "")
        << instances;
  }
}

TEST(Level, FrozenTakesItsInstancesOnWhateverDevice) {
  const Filter filter = Level{{"!path:b"}, {{"bugs/1[dim=0]", "0"}, {"bugs/2", "0"}}}.filter();
  const std::vector<std::string> tags;
  const auto takes = [&](const std::string& instance, const std::string& path) {
    return filter.selects(
        {instance.substr(0, 6), instance, path, "cpu", &tags, nullptr, nullptr, nullptr});
  };
  EXPECT_TRUE(takes("bugs/1[dim=0]@cpu", "a"));
  EXPECT_TRUE(takes("bugs/2@cuda:1", "a"));
  EXPECT_FALSE(takes("bugs/2@cpu", "b"));
  EXPECT_FALSE(takes("bugs/1[dim=1]@cpu", "a"));
}

TEST(Level, FrozenHoldsWhatFillsMake) {
  const std::vector<CaseFile> suite = {case_file("bugs/2", "{}")};
  std::string text = frozen_level({"bugs/2"}, "", {}, {}, suite, nullptr);
  const auto faults_of = [&] {
    JsonFile file{"level.json", text, {}};
    Diagnostics diagnostics;
    parse_json(file, diagnostics);
    check_frozen(file, decode_level(file, diagnostics), suite, nullptr, diagnostics);
    return diagnostics.empty() ? std::string() : to_string(diagnostics.front());
  };
  EXPECT_EQ(faults_of(), "");
  const std::string digest = fill_digests().at("normal");
  text.replace(text.find(digest), digest.size(), "0123456789abcdef");
  EXPECT_NE(faults_of().find("what the fill rule `normal` makes"), std::string::npos);
  text.replace(text.find("\"normal\""), 8, "\"normul\"");
  EXPECT_NE(faults_of().find("which is none here"), std::string::npos);
}

TEST(Level, HasTwoThreadsButAFrozenOneThoseThatItSays) {
  const auto threads = [](const std::string& text, const char* wrong = "") {
    JsonFile file{"level.json", text, {}};
    Diagnostics diagnostics;
    parse_json(file, diagnostics);
    const Level level = decode_level(file, diagnostics);
    EXPECT_EQ(diagnostics.empty() ? "" : to_string(diagnostics.front()), std::string(wrong));
    return level.threads;
  };
  const std::string frozen = R"("instances": {"bugs/1": "0123456789abcdef"})";
  EXPECT_EQ(threads(R"({"format": 1, "select": ["*"]})"), 2);
  EXPECT_EQ(threads(R"({"format": 1, "select": ["*"], "threads": 4})"), 4);
  EXPECT_EQ(threads("{\"format\": 1, " + frozen + "}"), 1);
  EXPECT_EQ(threads("{\"format\": 1, \"threads\": 2, " + frozen + "}"), 2);
  threads(R"({"format": 1, "select": ["*"], "threads": 0})",
          "level.json:1:43: /threads: found the number 0, expected a number of threads, 1 to 64");
}

TEST(Level, MayHaveEverythingExecutedSeveralTimes) {
  const auto repeat = [](const std::string& value, const char* wrong = "") {
    JsonFile file{"level.json", R"({"format": 1, "select": ["*"], "repeat": )" + value + "}", {}};
    Diagnostics diagnostics;
    parse_json(file, diagnostics);
    const Level level = decode_level(file, diagnostics);
    EXPECT_EQ(diagnostics.empty() ? "" : to_string(diagnostics.front()), std::string(wrong));
    return level.repeat;
  };
  EXPECT_EQ(repeat("20"), 20);
  repeat(
      "1",
      "level.json:1:42: /repeat: found the number 1, expected a number of executions, 2 to 10,000");
  Level like;
  like.repeat = 20;
  EXPECT_NE(frozen_level({}, "", like, {}, {}, nullptr).find("\"repeat\": 20"), std::string::npos);
}

TEST(Level, NamesWhatThereIs) {
  EXPECT_EQ(of_terms(R"("*", "bugs/*", "!bugs/2", "bugs/1[dim=1]@*", "bugs/1[dim=*", "bugs/*cpu",
                        "bugs/2@cpu/inductor", "tag:si*", "path:eager", "device:cuda*", "op:whatever",
                        "sweeps/unary[op=of-another-torch]@*", "sweeps/unary")"),
            "");
}

TEST(Level, ThatNamesNothingIsToldTheNearest) {
  const auto nearest = [](const std::string& term, const char* near) {
    const std::string said = of_terms('"' + term + '"');
    EXPECT_NE(said.find(near), std::string::npos) << term << "\n" << said;
  };
  nearest("bugs/11", "did you mean `bugs/1`?");
  nearest("!bugs/11", "did you mean `bugs/1`?");
  nearest("bugs/1[dim=2]@*", "which is no case and no instance of one");
  nearest("bug/*", "which is no case and no instance of one");
  nearest("bugs/2@cpu/inductr", "did you mean `inductor`?");
  nearest("bugs/2@cppu", "did you mean `cpu`?");
  nearest("!tag:silnt", "did you mean `silent`?");
  nearest("path:egaer", "did you mean `eager`?");
  nearest("device:cppu", "did you mean `cpu`?");
}

}  // namespace
}  // namespace lockstep
