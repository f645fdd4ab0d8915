#include "judge/warnings.h"

#include <gtest/gtest.h>

#include "judge/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;
using Heard = std::optional<std::vector<std::string>>;
const Heard kSilence = std::vector<std::string>();

/// What warns of these in its repetitions.
Observation warning(const std::vector<Heard>& repetitions) {
  Observation observation = returned({CallResult{{{"y", tensor("float32", {1})}}, {}, {}}},
                                     static_cast<int>(repetitions.size()));
  for (std::size_t r = 0; r < repetitions.size(); ++r)
    observation.repetitions[r].front().warnings = repetitions[r];
  return observation;
}

std::optional<Warnings> compared(const Observation& eager, Observation compiled,
                                 std::size_t reseeded = 0) {
  compiled.reference = std::make_shared<const Observation>(eager);
  return compare_warnings(compiled, reseeded);
}

TEST(Warnings, AreComparedWhereNothingIsCompiledAnyMore) {
  const Warnings expected{1, {"a"}, {"c"}};
  EXPECT_EQ(
      compared(warning({Heard{{"x"}}, Heard{{"a", "b"}}}), warning({Heard{}, Heard{{"b", "c"}}})),
      expected);
  // Said the first time alone: the compiler may have heard it.
  EXPECT_FALSE(compared(warning({Heard{{"once"}}, kSilence}), warning({Heard{}, kSilence})));
  EXPECT_FALSE(compared(warning({Heard{{"a"}}}), warning({kSilence})));
  EXPECT_FALSE(compared(warning({Heard{{"a"}}, Heard{{"a"}}}), warning({Heard{}, Heard{}})));
  EXPECT_FALSE(compare_warnings(warning({Heard{{"a"}}, Heard{{"a"}}}), 0));  // no eager beside it
}

TEST(Warnings, OfOtherSeedsAreNotCompared) {
  const Observation eager = warning({kSilence, Heard{{"a"}}, Heard{{"b"}}});
  EXPECT_EQ(compared(eager, warning({Heard{}, kSilence, kSilence}), 2), (Warnings{0, {"a"}, {}}));
  EXPECT_EQ(compared(eager, warning({Heard{}, kSilence, kSilence})), (Warnings{0, {"b"}, {}}));
}

TEST(Warnings, FailNothing) {
  Observation compiled = warning({Heard{}, kSilence});
  const Observation eager = warning({Heard{{"a"}}, Heard{{"a"}}});
  compiled.reference = std::make_shared<const Observation>(eager);
  const Findings found = judge_under(eager, compiled, "bits");
  EXPECT_EQ(found.status, Status::conform);
  ASSERT_TRUE(found.warnings);
  EXPECT_EQ(found.warnings->lost, std::vector<std::string>{"a"});
}

TEST(Warnings, OfAFloodTheFirstAreSaid) {
  std::vector<std::string> many;
  for (int i = 0; i < 64; ++i) many.push_back(std::to_string(i));
  const auto found = compared(warning({kSilence, kSilence}), warning({Heard{}, Heard{many}}));
  EXPECT_EQ(found->added.size(), 16U);
}

}  // namespace
}  // namespace lockstep
