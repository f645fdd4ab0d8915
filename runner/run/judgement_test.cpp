#include "run/judgement.h"

#include <gtest/gtest.h>

#include "judge/fixtures.h"

namespace lockstep {
namespace {

/// What is asked for once the fp64 gold has not made an input conform that a call has written to.
GoldSet needs_of(Status status) {
  Evidence evidence;
  evidence.declared = std::make_shared<const Case>();
  evidence.inputs = std::make_shared<const Inputs>();
  const auto returned =
      std::make_shared<const Observation>(fixtures::returned(fixtures::tensor("float32", {1.0})));
  evidence.eager = evidence.compiled = evidence.golds[Gold::fp64] = returned;
  return judge_item(evidence,
                    [&](const JudgeRequest&) {
                      Findings found;
                      found.status = status;
                      OutputComparison written;
                      written.name = "input w";
                      written.policy = "any_of(close, no_worse(1))";
                      written.grade = Grade::same1e3;
                      found.outputs.push_back(written);
                      found.differences.push_back({status, "input w", "differs"});
                      return found;
                    },
                    {})
      .needs;
}

TEST(Judgement, samples_of_noise_are_asked_for_of_what_is_written_to_inputs) {
  EXPECT_TRUE(needs_of(Status::value_diverges)[Gold::fp64_noise]);
  EXPECT_TRUE(needs_of(Status::mutation_diverges)[Gold::fp64_noise]);
  EXPECT_FALSE(needs_of(Status::metadata_diverges)[Gold::fp64_noise]);
}

}  // namespace
}  // namespace lockstep
