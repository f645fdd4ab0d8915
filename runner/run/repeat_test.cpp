#include "run/repeat.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

Verdict of(Status status, const std::string& reason = "") {
  Verdict verdict;
  verdict.status = status;
  verdict.reason = reason;
  return verdict;
}

TEST(Repeat, ExecutionsThatAgreeGiveTheirVerdict) {
  const Verdict verdict = combine({of(Status::conform), of(Status::conform)});
  EXPECT_EQ(verdict.status, Status::conform);
  EXPECT_FALSE(verdict.unstable);
  EXPECT_EQ(verdict.executions, (std::map<Status, int>{{Status::conform, 2}}));
  EXPECT_EQ(combine({of(Status::conform)}), of(Status::conform));
}

TEST(Repeat, TheWorstCountsAndADisagreementIsUnstable) {
  const Verdict verdict = combine({of(Status::conform), of(Status::unsupported, "no"),
                                   of(Status::crash, "signal 11"), of(Status::conform)});
  EXPECT_EQ(verdict.status, Status::crash);
  EXPECT_TRUE(verdict.unstable);
  EXPECT_EQ(verdict.reason,
            "4 executions disagree (conform 2 times, crash once, unsupported once): signal 11");
  EXPECT_EQ(
      verdict.executions,
      (std::map<Status, int>{{Status::conform, 2}, {Status::crash, 1}, {Status::unsupported, 1}}));
}

TEST(Repeat, OtherNumbersWithTheSameStatusAreUnstable) {
  Verdict first = of(Status::conform), second = of(Status::conform);
  first.outputs.emplace_back().grade = Grade::bits;
  first.grade = Grade::bits;
  second.outputs.emplace_back().grade = Grade::close;
  second.grade = Grade::close;
  const Verdict verdict = combine({first, second, first});
  EXPECT_EQ(verdict.status, Status::conform);
  EXPECT_EQ(verdict.grade, Grade::close);
  EXPECT_TRUE(verdict.unstable);
}

}  // namespace
}  // namespace lockstep
