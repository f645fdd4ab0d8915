#include "record/judged.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

void add(RunRecord& record, Status status, std::size_t count,
         std::optional<UnsupportedBy> by = {}) {
  for (std::size_t i = 0; i < count; ++i) {
    Verdict& verdict = record.verdicts.emplace_back();
    verdict.found.status = status;
    verdict.found.unsupported_by = by;
  }
}

TEST(JudgedOf, CountsWhatSaysSomethingOfTheCompiler) {
  for (const StatusInfo& status : all_statuses()) {
    RunRecord record;
    add(record, status.status, 1, UnsupportedBy::path);
    const Judged counts = judged(record);
    const bool silent = status.status == Status::refused || status.status == Status::unsupported ||
                        status.status == Status::inconclusive || status.status == Status::harness ||
                        status.status == Status::worker_lost || status.rank == Rank::proof;
    EXPECT_EQ(counts.could, status.status == Status::extension ? 0U : 1U) << status.name;
    EXPECT_EQ(counts.judged, counts.could == 1 && !silent ? 1U : 0U) << status.name;
  }
}

TEST(JudgedOf, LeavesOutWhatSomebodyElseDoesWithout) {
  RunRecord record;
  add(record, Status::conform, 3);
  add(record, Status::unsupported, 2);
  for (const UnsupportedByInfo& each : all_unsupported_by()) {
    if (each.by != UnsupportedBy::path) add(record, Status::unsupported, 2, each.by);
  }
  EXPECT_EQ(judged(record).could, 3U);
  EXPECT_EQ(judged(record).percent(), 100);
  add(record, Status::unsupported, 1, UnsupportedBy::path);
  EXPECT_EQ(judged(record).could, 4U);
  EXPECT_EQ(judged(record).percent(), 75);
  EXPECT_EQ(judged(RunRecord{}).percent(), 100);
  // What torch's front end refuses is nobody's fault, and nothing that was judged.
  add(record, Status::refused, 1);
  record.verdicts.back().found.front_end = true;
  record.verdicts.back().account.standing = Standing::waived;
  EXPECT_EQ(judged(record).could, 5U);
  EXPECT_EQ(judged(record).judged, 3U);
}

TEST(JudgedOf, CountsWhatThePathExecuted) {
  RunRecord record;
  add(record, Status::conform, 5);
  // Both raise, and no backend was asked: it says nothing.
  record.verdicts[0].found.never_asked = true;
  record.verdicts[0].found.compiled_error = RaisedError();
  EXPECT_EQ(judged(record).could, 4U);
  EXPECT_EQ(judged(record).judged, 4U);
  // There was nothing to compile, which is no error.
  record.verdicts[1].found.never_asked = true;
  EXPECT_EQ(judged(record).judged, 4U);
  record.verdicts[2].found.unsaid = "a process of its own was there";
  EXPECT_EQ(judged(record).judged, 3U);
  record.verdicts[3].found.permitted_fraction = 0.5;
  EXPECT_EQ(judged(record).judged, 3U);
  record.verdicts[3].found.permitted_fraction = 0.75;
  EXPECT_EQ(judged(record).judged, 2U);
}

TEST(JudgedTooLittle, IsSaidBelowWhatTheRunDemands) {
  RunRecord record;
  add(record, Status::conform, 8);
  add(record, Status::value_diverges, 1);
  add(record, Status::refused, 1);
  record.info.min_judged = 90;
  EXPECT_EQ(judged_too_little(record, false), "");
  add(record, Status::unsupported, 2, UnsupportedBy::path);
  EXPECT_EQ(judged_too_little(record, false),
            "judged 9 of 12 verdicts that could be (75.0 %), fewer than the 90 % demanded: 1 "
            "refused, 2 unsupported");
  record.info.min_judged = 75;
  EXPECT_EQ(judged_too_little(record, true), "");
}

TEST(JudgedTooLittle, IsSaidOfACaseOfTheUsersOfWhichNothingWasJudged) {
  RunRecord record;
  add(record, Status::unsupported, 2, UnsupportedBy::torch);
  record.verdicts[0].found.reason = "torch has no torch.nn.functional.gleu";
  EXPECT_EQ(judged_too_little(record, false), "");
  for (Verdict& verdict : record.verdicts) {
    verdict.facts.own = true;
    verdict.facts.case_file = "mine.json";
  }
  EXPECT_EQ(judged_too_little(record, false),
            "judged nothing of mine.json: torch has no torch.nn.functional.gleu");
  record.info.shard = ShardInfo{};
  EXPECT_EQ(judged_too_little(record, false), "");
  record.info.shard.reset();
  record.verdicts[1].found.status = Status::conform;
  EXPECT_EQ(judged_too_little(record, false), "");
  record.verdicts[1].found.status = Status::refused;
  record.verdicts[1].facts.case_file = "other.json";
  EXPECT_EQ(judged_too_little(record, false),
            "judged nothing of mine.json and 1 more of your own cases: torch has no "
            "torch.nn.functional.gleu");
  for (Verdict& verdict : record.verdicts) {
    verdict.found.status = Status::unsupported;
    verdict.found.unsupported_by = UnsupportedBy::declaration;
  }
  EXPECT_EQ(judged_too_little(record, false), "");
}

TEST(JudgedTooLittle, HasADefaultOnlyWithStrictAndNoneForFormat1) {
  RunRecord record;
  add(record, Status::refused, 1);
  EXPECT_EQ(judged_too_little(record, false), "");
  EXPECT_NE(judged_too_little(record, true), "");
  record.info.min_judged = 0;
  EXPECT_EQ(judged_too_little(record, true), "");
}

}  // namespace
}  // namespace lockstep
