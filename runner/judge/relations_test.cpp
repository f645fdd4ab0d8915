#include "judge/relations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;
using testing::HasSubstr;

Tensor rows(const std::vector<double>& numbers, std::string_view dtype = "float32") {
  return tensor(dtype, numbers);
}

Observation calls(const std::vector<Tensor>& of) {
  std::vector<CallResult> results;
  for (const Tensor& each : of) results.push_back({{{"y", each}}, {}, {}});
  return returned(std::move(results));
}

/// Row 1 of the first call alone is the second one; in reverse they are the third.
std::vector<RelationOfCalls> asked() {
  RelationOfCalls alone, reversed;
  alone.what = "the absence of all but row 1 of 2";
  alone.call = 1;
  alone.rows = {{.from = 1}};
  reversed.kind = RelationKind::rows;
  reversed.what = "the reverse order of 2 rows";
  reversed.call = 2;
  reversed.rows = {{.at = 0, .from = 1}, {.at = 1, .from = 0}};
  return {alone, reversed};
}

Findings judged_with(const Observation& eager, const Observation& compiled,
                     const Observation* gold = nullptr, std::vector<std::string> keeps = {}) {
  static const std::vector<RelationOfCalls> relations = asked();
  JudgeRequest request = between(eager, compiled);
  request.contract = Contract::values;
  request.relations = &relations;
  request.keeps = std::move(keeps);
  request.golds[Gold::fp64] = gold;
  return judged(request);
}

class Relations : public testing::Test {
 protected:
  Tensor all = rows({1, 2}), alone = rows({2}), reversed = rows({2, 1});
  Tensor off = rows({2 + 0x1p-22}), off_reversed = rows({2, 1 + 0x1p-23});
  Tensor all64 = rows({1, 2}, "float64"), alone64 = rows({2}, "float64"),
         reversed64 = rows({2, 1}, "float64"), other64 = rows({3}, "float64"),
         near64 = rows({2 + 1e-14}, "float64");
  Observation kept = calls({all, alone, reversed}), broken = calls({all, off, reversed});
  Observation gold = calls({all64, alone64, reversed64});
};

TEST_F(Relations, WhoKeepsThemAllIsNotAccused) {
  const Findings found = judged_with(kept, kept);
  EXPECT_EQ(found.status, Status::conform);
  ASSERT_EQ(found.relations.size(), 2U);
  EXPECT_EQ(found.relations[0].kind, RelationKind::batch);
  EXPECT_EQ(found.relations[0].asked, 1);
  EXPECT_EQ(found.relations[0].path, 0);
  EXPECT_FALSE(found.relations[0].undecided);
}

/// The last bits are within the contract: only the relation shows them.
TEST_F(Relations, APathThatAloneBreaksOneIsAccused) {
  const Findings found = judged_with(kept, broken, &gold);
  EXPECT_EQ(found.status, Status::relation_breaks);
  EXPECT_EQ(
      found.reason,
      "y, call 1: breaks the relation `batch`, which eager keeps: the absence of all but row 1 "
      "of 2 changes elements: 1 of the path, none of eager");
  EXPECT_EQ(judged_with(kept, calls({all, alone, off_reversed}), &gold).status,
            Status::relation_breaks);
}

TEST_F(Relations, WhatEagerBreaksTooIsWaivedUnlessThePathKeepsIt) {
  EXPECT_EQ(judged_with(broken, broken, &gold).status, Status::conform);
  const Findings found = judged_with(broken, broken, &gold, {"batch"});
  EXPECT_EQ(found.status, Status::relation_breaks);
  EXPECT_THAT(found.reason, HasSubstr("which the path keeps; eager breaks 1"));
  EXPECT_EQ(judged_with(broken, broken, &gold, {"rows"}).status, Status::conform);
  EXPECT_EQ(judged_with(broken, kept, &gold).relations[0].eager, 1);
}

/// A softmax over the batch is another one where rows are missing.
TEST_F(Relations, WhatTheGoldBreaksIsNoneOfTheProgram) {
  const Observation breaks = calls({all64, other64, reversed64});
  const Findings found = judged_with(kept, broken, &breaks);
  EXPECT_EQ(found.status, Status::conform);
  ASSERT_EQ(found.relations.size(), 1U);
  EXPECT_EQ(found.relations[0].kind, RelationKind::rows);
  // The gold's own rounding breaks nothing.
  const Observation rounded = calls({all64, near64, reversed64});
  EXPECT_EQ(judged_with(kept, broken, &rounded).status, Status::relation_breaks);
}

TEST_F(Relations, WithoutAGoldNobodyIsAccused) {
  const Findings found = judged_with(kept, broken);
  EXPECT_EQ(found.status, Status::conform);
  EXPECT_TRUE(found.relations[0].undecided);
}

TEST_F(Relations, RowsThatAreNotThereAreNotAskedFor) {
  const Observation short_of = calls({alone, alone, reversed});
  EXPECT_TRUE(judged_with(short_of, short_of).relations.empty());
}

TEST_F(Relations, AnotherExecutionHasToGiveTheSame) {
  JudgeRequest request = between(kept, kept);
  const std::vector<RelationOfCalls> none;
  request.contract = Contract::values;
  request.relations = &none;
  request.others = {{RelationKind::threads, &kept, &broken}, {RelationKind::process, &kept, &kept}};
  const Findings found = judged(request);
  EXPECT_EQ(found.status, Status::relation_breaks);
  EXPECT_EQ(
      found.reason,
      "y, call 1: breaks the relation `threads`, which eager keeps: another number of threads "
      "changes elements: 1 of the path, none of eager");
  request.others[0].eager = &broken;
  EXPECT_EQ(judged(request).status, Status::conform);
}

}  // namespace
}  // namespace lockstep
