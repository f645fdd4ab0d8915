#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/fixtures.h"
#include "judge/judge.h"

// What the judge makes of programs that give other results when they are executed again.

namespace lockstep {
namespace {

using namespace fixtures;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Repetitions, EagerThatDisagreesWithItselfIsInconclusive) {
  const Tensor a = tensor("float32", {1, 2}), b = tensor("float32", {1, 2.0000002});
  const Findings found = judge_under(two_runs(a, b), returned(a), "bits");
  EXPECT_EQ(found.status, Status::inconclusive);
  EXPECT_EQ(found.reason, "eager disagrees with itself: y");
  EXPECT_EQ(judge_under(two_runs(a, b), returned(tensor("float32", {7, 7})), "close").status,
            Status::inconclusive);
  EXPECT_EQ(judge_under(two_runs(a, b), returned(tensor("float64", {1, 2})), "close").status,
            Status::metadata_diverges);
}

TEST(Repetitions, CompiledThatDisagreesWithItselfIsUnstable) {
  const Tensor a = tensor("float32", {1, 2}), b = tensor("float32", {1, 2.0000002});
  const Findings found = judge_under(returned(a), two_runs(a, b), "close");
  EXPECT_EQ(found.status, Status::conform);
  EXPECT_TRUE(found.unstable);
  EXPECT_THAT(found.reason, HasSubstr("disagrees with itself"));
}

// A saboteur that is right the first time: under an exact contract the second execution must not
// pass, and under a tolerance it must keep that.
TEST(Repetitions, EveryRepetitionOfAnUnstableProgramIsJudged) {
  const Tensor a = tensor("float32", {1, 2}), b = tensor("float32", {1, 2.0000002});
  const Tensor far = tensor("float32", {1, 3}), nan = tensor("float32", {1, NAN});
  const Tensor wide = tensor("float64", {1, 2});
  const auto runs = [&](std::vector<Tensor> of) {
    Observation observation = returned(a);
    observation.repetitions.clear();
    for (const Tensor& y : of) observation.repetitions.push_back({CallResult{{{"y", y}}, {}, {}}});
    return observation;
  };
  const Findings bits = judge_under(returned(a), runs({a, a, b}), "bits");
  EXPECT_EQ(bits.status, Status::value_diverges);
  EXPECT_TRUE(bits.unstable);
  EXPECT_THAT(bits.reason, StartsWith("repetition 3: y: 1 of 2 elements differ"));
  EXPECT_EQ(bits.grade, Grade::ulp4);
  const Findings close = judge_under(returned(a), runs({a, b, far}), "close");
  EXPECT_THAT(close.reason, StartsWith("repetition 3: y: "));
  EXPECT_EQ(judge_under(returned(a), runs({far, nan, b}), "close").status,
            Status::nonfinite_diverges);
  EXPECT_EQ(judge_under(returned(a), runs({a, wide}), "close").status, Status::metadata_diverges);
  EXPECT_THAT(judge_under(returned(a), runs({far, a}), "close").reason, StartsWith("y: "));
  // Within the tolerance it conforms, with the grade of the worst.
  const Findings within = judge_under(returned(a), runs({a, b}), "close");
  EXPECT_EQ(within.status, Status::conform);
  EXPECT_EQ(within.grade, Grade::ulp4);
  EXPECT_TRUE(within.unstable);
  // Eager that does so too says nothing.
  EXPECT_EQ(judge_under(runs({a, b}), runs({a, far}), "bits").status, Status::inconclusive);
  Observation shorter = returned(a);
  shorter.repetitions[1].clear();
  EXPECT_EQ(judge_under(returned(a), shorter, "bits").status, Status::worker_lost);
}

// Views that overlap themselves have more elements than anybody can visit; they are never visited
// where they are not even eager's shape.
TEST(Repetitions, RepetitionsWithOtherMetadataThanEagerAreNotCompared) {
  const Tensor y = tensor("float32", {1, 2});
  for (const std::int64_t rows : {std::int64_t{1} << 24, std::int64_t{1} << 30}) {
    Tensor huge = y;
    huge.view.shape = {rows, rows};
    huge.view.strides = {1, 1};
    const Findings found = judge_under(returned(y), returned(huge), "bits");
    EXPECT_EQ(found.status, Status::metadata_diverges);
    EXPECT_FALSE(found.unstable);
    EXPECT_EQ(judge_under(returned(y), two_runs(y, huge), "bits").status,
              Status::metadata_diverges);
  }
}

}  // namespace
}  // namespace lockstep
