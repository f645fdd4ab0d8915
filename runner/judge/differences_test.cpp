#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/fixtures.h"

// A verdict says all that it saw: nothing that is wrong hides anything else.

namespace lockstep {
namespace {

using namespace fixtures;
using testing::ElementsAre;
using testing::HasSubstr;

/// "metadata_diverges y", in order.
std::vector<std::string> seen(const Findings& found) {
  std::vector<std::string> all;
  for (const Difference& difference : found.differences) {
    std::string text(info(difference.status).name);
    if (!difference.name.empty()) text += " " + difference.name;
    if (difference.repetition > 0) text += " in " + std::to_string(difference.repetition);
    all.push_back(text);
  }
  return all;
}

/// A 2 by 2 tensor, and the same whose columns lie one after the other.
Tensor square(const std::vector<double>& values) {
  return reshaped(tensor("float32", values), {2, 2});
}
Tensor by_columns(const std::vector<double>& values) {
  Tensor result = square({values[0], values[2], values[1], values[3]});
  result.view.strides = {1, 2};
  return result;
}

TEST(Differences, AStrideHidesNoValues) {
  const Tensor y = square({1, 2, 3, 4});
  const Findings same = judge_under(returned(y), returned(by_columns({1, 2, 3, 4})), "bits");
  EXPECT_THAT(seen(same), ElementsAre("metadata_diverges y"));
  EXPECT_EQ(same.reason, "y: strides [2, 1], compiled [1, 2]");
  EXPECT_EQ(same.grade, Grade::bits);
  const Findings both = judge_under(returned(y), returned(by_columns({1, 2, 3, 5})), "bits");
  EXPECT_EQ(both.status, Status::metadata_diverges);
  EXPECT_THAT(seen(both), ElementsAre("metadata_diverges y", "value_diverges y"));
  EXPECT_EQ(both.reason, "y: strides [2, 1], compiled [1, 2] (and 1 more: y value diverges)");
  EXPECT_THAT(both.differences[1].reason, HasSubstr("1 of 4 elements differ"));
  ASSERT_EQ(both.outputs.size(), 1u);
  EXPECT_EQ(both.outputs[0].status, Status::metadata_diverges);
  EXPECT_EQ(both.outputs[0].differing, 1);
  EXPECT_EQ(both.outputs[0].max_abs, 1);
  // Of another shape or dtype there is nothing to compare.
  const Findings dtype =
      judge_under(returned(y), returned(reshaped(tensor("float64", {7, 7, 7, 7}), {2, 2})), "bits");
  EXPECT_THAT(seen(dtype), ElementsAre("metadata_diverges y"));
  EXPECT_FALSE(dtype.grade);
}

TEST(Differences, AnOutputHidesNoGradient) {
  const Tensor y = tensor("float32", {1}), g = tensor("float32", {2, 3});
  const Tensor wide = tensor("float64", {1}), wrong = tensor("float32", {2, 4});
  const Observation eager = returned({CallResult{{{"y", y}}, {}, {{"x", g}}}});
  const Observation compiled = returned({CallResult{{{"y", wide}}, {}, {{"x", wrong}}}});
  const Findings found = judge_under(eager, compiled, "bits");
  EXPECT_THAT(seen(found), ElementsAre("metadata_diverges y", "value_diverges grad x"));
  EXPECT_EQ(found.outputs[1].differing, 1);
}

TEST(Differences, ComeInTheOrderOfTheirRanks) {
  const Tensor x = tensor("float32", {1, 2}), y = tensor("float32", {1, 2});
  const Tensor z = tensor("float32", {1, 2}), w = tensor("float32", {1, 2});
  const Tensor changed = tensor("float32", {1, 5}), nan = tensor("float32", {1, NAN});
  const Tensor three = tensor("float32", {1, 2, 3});
  const auto call = [&](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& in,
                        const DataValue& view) {
    return CallResult{{{"a", a}, {"b", b}, {"c", c}, {"view", view}}, {{"x", in}}, {}};
  };
  Observation compiled = returned({call(changed, nan, three, changed, changed)});
  compiled.repetitions[0][0].outputs[3].second = tensor("float32", {1, 2});
  compiled.repetitions[1] = compiled.repetitions[0];
  compiled.proof = nullptr;
  const Findings found = judge_under(returned({call(y, z, w, x, x)}), compiled, "bits");
  EXPECT_THAT(seen(found), ElementsAre("metadata_diverges c", "aliasing_diverges aliases",
                                       "nonfinite_diverges b", "value_diverges a",
                                       "mutation_diverges input x", "not_compiled"));
  EXPECT_THAT(found.reason, HasSubstr("(and 5 more: aliasing diverges, b non-finite diverges, a "
                                      "value diverges, …)"));
}

TEST(Differences, AnInputSaysAllUnderOneStatus) {
  const Tensor y = tensor("float32", {1}), x = square({1, 2, 3, 4});
  const Observation eager = returned({CallResult{{{"y", y}}, {{"x", x}}, {}}});
  const Observation compiled =
      returned({CallResult{{{"y", y}}, {{"x", by_columns({1, 2, 3, 5})}}, {}}});
  EXPECT_THAT(seen(judge_under(eager, compiled, "bits")),
              ElementsAre("mutation_diverges input x", "mutation_diverges input x"));
}

/// Raises in the backward pass of its last call.
Observation raised_in_backward(std::vector<CallResult> calls, std::string_view kind = "error") {
  Observation observation =
      raised("RuntimeError", "element 0 of tensors does not require grad", kind);
  observation.repetitions = {std::move(calls)};
  return observation;
}

TEST(Differences, ALostRequiresGradIsMetadataAndNoError) {
  const Tensor g = tensor("float32", {2});
  Tensor y = tensor("float32", {1});
  y.view.requires_grad = true;
  Tensor lost = tensor("float32", {1});
  const Observation eager = returned({CallResult{{{"y", y}}, {}, {{"x", g}}}});
  const Findings found =
      judge_under(eager, raised_in_backward({CallResult{{{"y", lost}}, {}, {}}}), "bits");
  EXPECT_EQ(found.status, Status::metadata_diverges);
  EXPECT_THAT(seen(found), ElementsAre("metadata_diverges y", "spurious_error"));
  EXPECT_THAT(found.reason, testing::StartsWith("y: requires_grad true, compiled false (and 1 "
                                                "more: spurious error)"));
  EXPECT_TRUE(found.compiled_error);
  // An error that metadata do not explain is one, and hides no value.
  const Findings error =
      judge_under(eager, raised_in_backward({CallResult{{{"y", y}}, {}, {}}}), "bits");
  EXPECT_THAT(seen(error), ElementsAre("spurious_error")) << "and no gradient is missing";
  Tensor wrong = tensor("float32", {3});
  wrong.view.requires_grad = true;
  EXPECT_THAT(
      seen(judge_under(eager, raised_in_backward({CallResult{{{"y", wrong}}, {}, {}}}), "bits")),
      ElementsAre("spurious_error", "value_diverges y"));
  // Before any call was done there is but the error.
  EXPECT_THAT(seen(judge_under(eager, raised_in_backward({}), "bits")),
              ElementsAre("spurious_error"));
  EXPECT_THAT(seen(judge_under(eager, raised("ValueError", "no"), "bits")),
              ElementsAre("spurious_error"));
}

TEST(Differences, ARefusalExcusesNothingBeforeIt) {
  const Tensor y = tensor("float32", {1}), wrong = tensor("float32", {3});
  const CallResult good{{{"y", y}}, {}, {}}, bad{{{"y", wrong}}, {}, {}};
  const Observation eager = returned({good, good});
  EXPECT_THAT(seen(judge_under(eager, raised_in_backward({bad}, "refused"), "bits")),
              ElementsAre("value_diverges y, call 1", "refused"));
  EXPECT_THAT(seen(judge_under(eager, raised_in_backward({good}, "refused"), "bits")),
              ElementsAre("refused"));
  // Where eager disagrees with itself, no value is wrong.
  EXPECT_THAT(seen(judge_under(two_runs(y, wrong), raised_in_backward({bad}, "refused"), "bits")),
              ElementsAre("refused", "value_diverges y"));
}

TEST(Differences, OtherExecutionsSayTheirsToo) {
  const Tensor a = tensor("float32", {1, 2}), far = tensor("float32", {1, 3});
  const Tensor wide = tensor("float64", {1, 2});
  const Findings found = judge_under(returned(a), two_runs(far, wide), "bits");
  EXPECT_THAT(seen(found), ElementsAre("metadata_diverges y", "value_diverges y in 1"));
  EXPECT_THAT(found.reason, testing::StartsWith("repetition 2: y: dtype"));
}

TEST(Differences, NoiseOfEagerComesBeforeItsValues) {
  const Tensor a = tensor("float32", {1, 2}), b = tensor("float32", {1, 3});
  Observation compiled = returned(tensor("float32", {1, 7}));
  EXPECT_THAT(seen(judge_under(two_runs(a, b), compiled, "bits")),
              ElementsAre("inconclusive", "value_diverges y"));
  compiled.proof = nullptr;
  EXPECT_THAT(seen(judge_under(two_runs(a, b), compiled, "bits")),
              ElementsAre("not_compiled", "inconclusive", "value_diverges y"));
}

TEST(Differences, TheFirstWeakOutputMakesAVerdictWeak) {
  const Tensor one = tensor("float32", {1}), zero = tensor("float32", {0});
  const Tensor same = tensor("float32", {1}), tiny = tensor("float32", {1e-30});
  const Findings found =
      judge_under(returned({CallResult{{{"a", one}, {"b", zero}}, {}, {}}}),
                  returned({CallResult{{{"a", same}, {"b", tiny}}, {}, {}}}), "close");
  EXPECT_EQ(found.status, Status::conform);
  EXPECT_EQ(found.weak,
            "b: only the absolute tolerance lets it pass: 1e-30 apart at a magnitude of 1e-30");
  EXPECT_EQ(judge_under(returned(zero), returned(tiny), "bits").weak, "");
}

TEST(Differences, OfWhatIsEqualNothingIsLogged) {
  const Tensor y = tensor("float32", {1, 2});
  const Findings found = judge_under(returned(y), returned(y), "any_of(close, ulp(4))");
  EXPECT_TRUE(found.differences.empty());
  EXPECT_TRUE(found.outputs[0].checks.empty());
  EXPECT_TRUE(found.outputs[0].grading.empty());
}

}  // namespace
}  // namespace lockstep
