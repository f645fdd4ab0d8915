#include "record/tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(TallyOf, CountsEveryVerdictOnce) {
  RunRecord record;
  const auto add = [&](Status status, Standing standing = Standing::new_) {
    Verdict& verdict = record.verdicts.emplace_back();
    verdict.found.status = status;
    verdict.account.standing = standing;
  };
  add(Status::conform);
  add(Status::crash);
  add(Status::value_diverges, Standing::known);
  add(Status::conform, Standing::fixed);
  add(Status::value_diverges, Standing::waived);
  add(Status::unsupported);
  add(Status::inconclusive);

  const Tally usual = tally(record, false);
  EXPECT_EQ(usual[Column::conform], 1u);
  EXPECT_EQ(usual[Column::failing], 1u);
  EXPECT_EQ(usual[Column::known], 1u);
  EXPECT_EQ(usual[Column::fixed], 1u);
  EXPECT_EQ(usual[Column::waived], 1u);
  EXPECT_EQ(usual[Column::skipped], 2u);

  const Tally strict = tally(record, true);
  EXPECT_EQ(strict[Column::failing], 3u);  // what is fixed, and what is inconclusive
  EXPECT_EQ(strict[Column::fixed], 0u);
  EXPECT_EQ(strict[Column::skipped], 1u);
}

TEST(TallyOf, CountsWhatConformsByGrade) {
  RunRecord record;
  const auto add = [&](std::optional<Grade> grade, Standing standing = Standing::new_) {
    Verdict& verdict = record.verdicts.emplace_back();
    verdict.found.grade = grade;
    verdict.account.standing = standing;
    return &verdict;
  };
  add(Grade::bits);
  add(Grade::ulp4);
  add(Grade::ulp4)->found.weak = "only the sign of a zero differs";
  Verdict* both = add(Grade::bits);
  both->found.vacuous = true;
  both->found.weak = "counted once, as vacuous";
  add(std::nullopt);
  add(Grade::none)->found.status = Status::value_diverges;
  add(Grade::close, Standing::fixed);

  const Tally counts = tally(record, false);
  EXPECT_EQ(counts[Column::conform], 5u);
  EXPECT_EQ(counts.grades, (decltype(counts.grades){2, 2, 0, 0, 0, 0}));
  EXPECT_EQ(counts.ungraded, 1u);
  EXPECT_EQ(counts.weak, 1u);
  EXPECT_EQ(counts.vacuous, 1u);
}

TEST(TallyOf, CountsWhatIsOfUnverifiedCasesInEveryColumn) {
  RunRecord record;
  for (const Status status : {Status::conform, Status::value_diverges, Status::unsupported}) {
    record.verdicts.emplace_back().found.status = status;
    Verdict& verdict = record.verdicts.emplace_back();
    verdict.found.status = status;
    verdict.facts.unverified = "Nobody here has the device.";
  }
  const Tally counts = tally(record, false);
  EXPECT_EQ(counts.unverified, 3u);
  EXPECT_EQ(counts[Column::conform], 2u);  // and each once in its column
}

TEST(Columns, AreReadWithWhatConformsFirst) {
  std::vector<std::string_view> names;
  for (const ColumnInfo* column : columns_as_read()) names.push_back(column->name);
  EXPECT_THAT(names,
              testing::ElementsAre("conform", "failing", "fixed", "known", "waived", "skipped"));
}

}  // namespace
}  // namespace lockstep
