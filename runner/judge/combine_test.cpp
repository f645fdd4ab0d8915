#include "judge/combine.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

Findings of(Status status, const std::string& reason = "") {
  Findings found;
  found.status = status;
  found.reason = reason;
  return found;
}

TEST(Combine, ExecutionsThatAgreeGiveTheirFinding) {
  const Findings found = combine({of(Status::conform), of(Status::conform)}).found;
  EXPECT_EQ(found.status, Status::conform);
  EXPECT_FALSE(found.unstable);
  EXPECT_EQ(found.executions, (std::map<Status, int>{{Status::conform, 2}}));
  EXPECT_EQ(combine({of(Status::conform)}).found, of(Status::conform));
}

TEST(Combine, TheWorstCountsAndADisagreementIsUnstable) {
  const auto [found, worst] = combine({of(Status::conform), of(Status::unsupported, "no"),
                                       of(Status::crash, "signal 11"), of(Status::conform)});
  EXPECT_EQ(worst, 2U);
  EXPECT_EQ(found.status, Status::crash);
  EXPECT_TRUE(found.unstable);
  EXPECT_EQ(found.reason,
            "4 executions disagree (conform 2 times, crash once, unsupported once): signal 11");
  EXPECT_EQ(
      found.executions,
      (std::map<Status, int>{{Status::conform, 2}, {Status::crash, 1}, {Status::unsupported, 1}}));
}

TEST(Combine, OtherNumbersWithTheSameStatusAreUnstable) {
  Findings first = of(Status::conform), second = of(Status::conform);
  first.outputs.emplace_back().grade = Grade::bits;
  first.grade = Grade::bits;
  second.outputs.emplace_back().grade = Grade::close;
  second.grade = Grade::close;
  const auto [found, worst] = combine({first, second, first});
  EXPECT_EQ(worst, 1U);
  EXPECT_EQ(found.status, Status::conform);
  EXPECT_EQ(found.grade, Grade::close);
  EXPECT_TRUE(found.unstable);
}

}  // namespace
}  // namespace lockstep
