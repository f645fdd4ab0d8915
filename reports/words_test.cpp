#include "reports/words.h"

#include <gtest/gtest.h>

#include <set>

#include "base/fixtures.h"
#include "reports/marks.h"

namespace lockstep {
namespace {

// LOCKSTEP_RENEW=1 writes it.
TEST(Words, TheFileIsWhatTheTablesSay) {
  const char* file = "reports/words.json";
  const std::string expected = words_document().dump(1) + "\n";
  expect_copy(file, expected, read_source(file), expected);
}

TEST(Words, NoNameIsTwiceInATable) {
  for (const auto& [name, rows] : words_document().items()) {
    std::set<std::string> names;
    for (const Json& row : rows)
      EXPECT_TRUE(
          names.insert(row.is_object() ? row["name"].get<std::string>() : row.dump()).second)
          << name << " " << row.dump();
    EXPECT_FALSE(names.empty()) << name;
  }
}

TEST(Marks, AreThoseOfTheVerdict) {
  Verdict verdict;
  EXPECT_TRUE(marks_of(verdict).empty());
  verdict.unstable = true;
  verdict.weak = "of the sign of zero";
  verdict.front_end = true;
  verdict.share = 0.5;
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(marks_of(verdict), (Names{"unstable", "weak", "partly", "front-end"}));
  verdict.status = Status::fell_back;  // which says so of all of it
  EXPECT_EQ(marks_of(verdict), (Names{"unstable", "weak", "front-end"}));
}

}  // namespace
}  // namespace lockstep
