#include "verdict/status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/enum_table.h"
#include "base/fixtures.h"
#include "verdict/verdict.h"

namespace lockstep {
namespace {

enum class Letter { a, b };
struct LetterRow {
  Letter letter;
};

TEST(EnumTable, NoticesWhatIsMissing) {
  static_assert(
      has_every_row(std::array{LetterRow{Letter::a}, LetterRow{Letter::b}}, &LetterRow::letter));
  static_assert(!has_every_row(std::array{LetterRow{Letter::a}}, &LetterRow::letter));
  static_assert(
      !has_every_row(std::array{LetterRow{Letter::b}, LetterRow{Letter::a}}, &LetterRow::letter));
  static_assert(is_enumerator<Letter::b>() && !is_enumerator<static_cast<Letter>(2)>());
}

TEST(Status, NamesAndLabelsAreUnique) {
  std::set<std::string_view> names, labels;
  for (const StatusInfo& status : all_statuses()) {
    EXPECT_TRUE(names.insert(status.name).second) << status.name;
    EXPECT_TRUE(labels.insert(status.label).second) << status.label;
    EXPECT_EQ(find_status(status.name), &info(status.status));
  }
  EXPECT_EQ(find_status("confrom"), nullptr);
}

TEST(Status, WhatIsWrongComesBeforeWhatConforms) {
  const auto rank = [](Status status) { return info(status).rank; };
  EXPECT_LT(rank(Status::metadata_diverges), rank(Status::aliasing_diverges));
  EXPECT_LT(rank(Status::aliasing_diverges), rank(Status::nonfinite_diverges));
  EXPECT_LT(rank(Status::nonfinite_diverges), rank(Status::value_diverges));
  EXPECT_LT(rank(Status::value_diverges), rank(Status::mutation_diverges));
  EXPECT_LT(rank(Status::mutation_diverges), rank(Status::state_diverges));
  EXPECT_LT(rank(Status::state_diverges), rank(Status::not_compiled));
  EXPECT_LT(rank(Status::mutation_diverges), rank(Status::fell_back));
  EXPECT_LT(rank(Status::not_compiled), rank(Status::inconclusive));
  for (const StatusInfo& status : all_statuses()) {
    if (status.status == Status::conform) continue;
    EXPECT_LT(status.rank, rank(Status::conform)) << status.name;
  }
}

TEST(Status, ProcessesThatDiedLeaveNothingToJudge) {
  std::vector<std::string_view> crashed, lost;
  for (const StatusInfo& status : all_statuses()) {
    if (status.crashed()) crashed.push_back(status.name);
    if (!status.ended_by_itself()) lost.push_back(status.name);
    EXPECT_TRUE(!status.crashed() || (status.stderr_tells && status.fails)) << status.name;
  }
  EXPECT_THAT(crashed, testing::ElementsAre("crash", "timeout", "oom", "worker_lost"));
  EXPECT_THAT(lost, testing::ElementsAre("crash", "timeout", "oom", "worker_lost", "unsupported"));
}

TEST(Status, DocumentsHaveTheTable) {
  std::vector<std::string> rows;
  for (const StatusInfo& status : all_statuses()) {
    rows.push_back(fmt::format("| `{}` | {} | {} | {} |", status.name,
                               status.fails          ? "yes"
                               : status.fails_strict ? "with `--strict`"
                                                     : "no",
                               name_of(status.junit), status.meaning));
  }
  expect_table("docs/reference/log.md", "| status | fails a run | JUnit | when |", rows);
}

TEST(Status, TheLogsPageNamesStandingsAndGrades) {
  std::vector<std::string> names;
  for (const StandingInfo& standing : all_standings())
    names.push_back(fmt::format("`{}`", standing.name));
  const std::string last = names.back();
  names.pop_back();
  const std::string page = read_source("docs/reference/log.md");
  EXPECT_THAT(page, testing::HasSubstr(
                        fmt::format("| `standing` | {} or {} |", fmt::join(names, ", "), last)));
  EXPECT_THAT(page, testing::HasSubstr(
                        fmt::format("on the scale `{}` |", fmt::join(grade_names(), "`, `"))));
}

TEST(Status, TheSchemaOfExpectationsHasStatusesAndGrades) {
  Json statuses = Json::array();
  for (const StatusInfo& status : all_statuses()) {
    if (status.expectable()) statuses.push_back(status.name);
  }
  const char* schema = "cases/schema/expectations.schema.json";
  expect_json(schema, "/properties/known/items/properties/status/enum", statuses);
  expect_json(schema, "/properties/known/items/properties/grade/enum", grade_names());
}

}  // namespace
}  // namespace lockstep
