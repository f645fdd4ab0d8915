#include "judge/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/fixtures.h"

// What the judge says by golds: who is nearer, and what they decide.
namespace lockstep {
namespace {

using namespace fixtures;
using testing::HasSubstr;

TEST(Judge, SaysWhoIsNearerToTheTruth) {
  const Observation eager = returned(tensor("float32", {1.0, 2.0}));
  const Observation compiled = returned(tensor("float32", {1.0, 2.0001}));
  const auto nearer = [&](double truth, const Observation* perturbed = nullptr) {
    const Observation gold = returned(tensor("float64", {1.0, truth}));
    JudgeRequest request = between(eager, compiled);
    request.golds[Gold::fp64] = &gold;
    request.golds[Gold::perturbed] = perturbed;
    request.contract = Contract::bits;
    return fixtures::judged(request);
  };
  EXPECT_EQ(nearer(2.0000001).nearer, Nearer::eager);
  EXPECT_THAT(nearer(2.0000001).reason,
              HasSubstr("; compiled is 998 times further from the fp64 gold (torch's float64 "
                        "kernels) than eager"));
  EXPECT_EQ(nearer(2.0001).nearer, Nearer::compiled);
  EXPECT_EQ(nearer(2.00005).nearer, Nearer::both);
  const Observation moved = returned(tensor("float64", {1.0, 3.0}));
  EXPECT_EQ(nearer(2.0, &moved).nearer, Nearer::ill_conditioned);
  const Observation still = returned(tensor("float64", {1.0, 2.0}));
  EXPECT_EQ(nearer(2.0, &still).nearer, Nearer::eager);
  // A gold whose elements are half as long says nothing, and is not read beyond its end.
  const Observation narrow = returned(tensor("float32", {1.0, 3.0}));
  EXPECT_EQ(nearer(2.0, &narrow).nearer, Nearer::eager);
}

TEST(Judge, NeverSaysWhoIsNearerWithinTheErrorOfTheGold) {
  const auto judged = [](std::vector<double> e, std::vector<double> c, std::vector<double> truth,
                         std::optional<ValueOrigin> origin, bool pointwise) {
    const Observation eager = returned(tensor("float64", e));
    const Observation compiled = returned(tensor("float64", c));
    Observation gold = returned(tensor("float64", truth));
    if (origin) gold.repetitions.front().front().from["outputs/y"] = *origin;
    JudgeRequest request = between(eager, compiled);
    request.golds[Gold::fp64] = &gold;
    request.contract = Contract::bits;
    request.pointwise = pointwise;
    return fixtures::judged(request);
  };
  const ValueOrigin correct = {"MPFR 4.2.0", 0.5};
  const double ulp = 0x1p-52;
  for (const bool pointwise : {false, true}) {
    // Eager's kernels are the gold's: it proves nothing that they agree.
    EXPECT_EQ(judged({1, 1}, {1, 1 + 64 * ulp}, {1, 1}, {}, pointwise).nearer, std::nullopt);
    EXPECT_EQ(judged({1, 1 + ulp}, {1, 1 + 64 * ulp}, {1, 1}, {}, pointwise).nearer, std::nullopt);
    // Eager computed in something narrower.
    EXPECT_EQ(judged({1, 1.0001}, {1, 1}, {1, 1}, {}, pointwise).nearer, Nearer::compiled);
    // Rounded once, the gold is half a unit from the truth at most.
    const Findings eager = judged({1, 1}, {1, 1 + ulp}, {1, 1}, correct, pointwise);
    EXPECT_EQ(eager.nearer, Nearer::eager);
    EXPECT_THAT(eager.reason, HasSubstr("the fp64 gold (MPFR 4.2.0)"));
    EXPECT_EQ(eager.outputs.front().gold, "MPFR 4.2.0");
    EXPECT_EQ(judged({1, 1 - ulp / 2}, {1, 1 + ulp}, {1, 1}, correct, pointwise).nearer,
              std::nullopt);
    EXPECT_EQ(judged({1, 1 + ulp}, {1, 1}, {1, 1}, correct, pointwise).nearer, Nearer::compiled);
  }
}

TEST(Judge, SaysWhyAGoldIsLost) {
  const Observation eager = returned(tensor("float32", {1.0, 2.0}));
  const Observation compiled = returned(tensor("float32", {1.0, 2.1}));
  Observation gold = returned(tensor("float64", {1.0, 2.0}));
  gold.repetitions.front().front().outputs.clear();
  gold.repetitions.front().front().lost["outputs/y"] = "it would draw other numbers";
  JudgeRequest request = between(eager, compiled);
  request.golds[Gold::fp64] = &gold;
  EXPECT_THAT(judge(request).reason, HasSubstr("no fp64 gold: it would draw other numbers"));
  request.golds[Gold::stepwise] = &gold;
  request.contract = Contract::casts;
  EXPECT_THAT(judge(request).reason, HasSubstr("no stepwise gold: it would draw other numbers"));
}

// A side with NaN or infinity where the truth is finite, or the reverse, is the wrong one, however
// near its finite numbers are.
TEST(Judge, SaysWhoHasTheWrongNanOrInfinity) {
  const auto judged = [](std::string_view dtype, std::vector<double> e, std::vector<double> c,
                         std::vector<double> truth) {
    const Observation eager = returned(tensor(dtype, e));
    const Observation compiled = returned(tensor(dtype, c));
    const Observation gold =
        returned(tensor(dtype.starts_with("complex") ? "complex128" : "float64", truth));
    JudgeRequest request = between(eager, compiled);
    request.golds[Gold::fp64] = &gold;
    return fixtures::judged(request);
  };
  const Findings infinite = judged("float32", {3e38, 1.5}, {INFINITY, 1}, {3e38, 1});
  EXPECT_EQ(infinite.nearer, Nearer::eager);
  EXPECT_THAT(
      infinite.reason,
      testing::EndsWith("; compiled has NaN or infinity where the fp64 gold (torch's float64 "
                        "kernels) has not, or lacks it, in 1 number, eager in none"));
  EXPECT_EQ(judged("float32", {NAN, 1}, {5, 1}, {5, 1}).nearer, Nearer::compiled);
  EXPECT_EQ(judged("float32", {NAN, 1}, {5, 1}, {NAN, 1}).nearer, Nearer::eager);
  EXPECT_EQ(judged("float32", {INFINITY}, {-INFINITY}, {-INFINITY}).nearer, Nearer::compiled);
  EXPECT_EQ(judged("float32", {NAN}, {INFINITY}, {1}).nearer, Nearer::both);
  EXPECT_EQ(judged("float32", {NAN, NAN, 7}, {1, 2, NAN}, {1, 2, 7}).nearer, Nearer::compiled);
  // What overflows in the dtype is infinite there, whatever the gold holds.
  EXPECT_EQ(judged("float32", {INFINITY, 1}, {3e38, 1}, {1e39, 1}).nearer, Nearer::eager);
  EXPECT_EQ(judged("float16", {INFINITY, 1}, {65504, 1}, {1e5, 1}).nearer, Nearer::eager);
  EXPECT_EQ(judged("float8_e4m3fn", {NAN, 1}, {448, 1}, {1e5, 1}).nearer, Nearer::eager);
  // In double eager is the gold, and that says nothing of either; unless it had narrower steps.
  EXPECT_EQ(judged("float64", {1}, {1 + 0x1p-52}, {1}).nearer, std::nullopt);
  EXPECT_EQ(judged("float64", {1.5}, {1 + 0x1p-52}, {1}).nearer, Nearer::compiled);
  EXPECT_EQ(judged("complex64", {1, NAN}, {1, 2}, {1, 2}).nearer, Nearer::compiled);
}

/// An execution in several samples, each with its values of `y`.
Observation samples(std::string_view dtype, const std::vector<std::vector<double>>& values) {
  Observation all = returned(tensor(dtype, values.front()));
  for (std::size_t i = 1; i < values.size(); ++i)
    all.repetitions.push_back(returned(tensor(dtype, values[i])).repetitions.front());
  return all;
}

TEST(Judge, IntegersThatTurnOnTheRoundingOfStepsAreWeak) {
  const auto judged = [](std::vector<double> e, std::vector<double> c, std::vector<double> fp64,
                         std::vector<double> sample, Contract contract = Contract::values) {
    const Observation eager = returned(tensor("int64", e));
    const Observation compiled = returned(tensor("int64", c));
    const Observation gold = returned(tensor("int64", fp64));
    const Observation noise = samples("int64", {e, sample});
    JudgeRequest request = between(eager, compiled);
    request.golds[Gold::fp64] = &gold;
    request.golds[Gold::fp64_noise] = &noise;
    request.contract = contract;
    return fixtures::judged(request);
  };
  const Findings turned = judged({1, 5, 7}, {1, 6, 7}, {1, 5, 7}, {1, 6, 7});
  EXPECT_EQ(turned.status, Status::conform);
  EXPECT_THAT(turned.weak, HasSubstr("1 of 3 elements turn on how steps are rounded"));
  EXPECT_EQ(judged({1, 5, 7}, {1, 6, 7}, {1, 6, 7}, {1, 6, 7}).status, Status::conform);
  // Where the golds say what eager says, it must be the same; and nothing may be anything.
  EXPECT_EQ(judged({1, 5, 7}, {2, 6, 7}, {1, 5, 7}, {1, 6, 7}).status, Status::value_diverges);
  EXPECT_EQ(judged({1, 5, 7}, {1, 10, 7}, {1, 5, 7}, {1, 6, 7}).status, Status::value_diverges);
  // Where the contract is bits, it is no question.
  EXPECT_EQ(judged({1, 5, 7}, {1, 6, 7}, {1, 5, 7}, {1, 6, 7}, Contract::bits).status,
            Status::value_diverges);
}

TEST(Judge, BitsOfFloatsAreJudgedAsTheFloatsThatTheyAre) {
  const auto judged = [](std::vector<double> e, std::vector<double> c, Contract contract,
                         bool of_floats = true) {
    Observation eager = returned(tensor("int16", e));
    const Observation compiled = returned(tensor("int16", c));
    if (of_floats) eager.repetitions.front().front().bits_of["outputs/y"] = find_dtype("bfloat16");
    JudgeRequest request = between(eager, compiled);
    request.contract = contract;
    return fixtures::judged(request);
  };
  // -0 and +0; 1 and the number after it.
  EXPECT_EQ(judged({-32768, 0x3f80}, {0, 0x3f81}, Contract::values).status, Status::conform);
  EXPECT_EQ(judged({-32768, 0x3f80}, {0, 0x3f81}, Contract::bits).status, Status::value_diverges);
  EXPECT_EQ(judged({-32768}, {0}, Contract::values, false).status, Status::value_diverges);
  EXPECT_EQ(judged({0x3f80}, {0x3fc0}, Contract::values).status, Status::value_diverges);
  EXPECT_EQ(judged({0x7fc0}, {0x3fc0}, Contract::values).status, Status::nonfinite_diverges);
}

TEST(Judge, NobodyIsHeldToMoreThanRoundingAllows) {
  const auto judged = [](double compiled, const std::vector<std::vector<double>>& noise,
                         std::string_view dtype = "float32") {
    // A sum that cancels: eager happens to hit the truth.
    const Observation eager = returned(tensor(dtype, {1000, 0.25}));
    const Observation other = returned(tensor(dtype, {1000, compiled}));
    const Observation gold = returned(tensor("float64", {1000, 0.25}));
    const Observation sampled = samples(dtype, noise);
    JudgeRequest request = between(eager, other);
    request.golds[Gold::fp64] = &gold;
    request.golds[Gold::fp64_noise] = &sampled;
    return fixtures::judged(request);
  };
  const std::vector<std::vector<double>> noise = {{1000, 0.25}, {1000, 0.251}};
  EXPECT_EQ(judged(0.2515, noise).status, Status::conform);
  EXPECT_EQ(judged(0.2515, {{1000, 0.25}}).status, Status::value_diverges);
  const Findings beyond = judged(0.2525, noise);
  EXPECT_EQ(beyond.status, Status::value_diverges) << "more than twice the greatest sample's";
  EXPECT_THAT(beyond.reason, HasSubstr("eager's 0, that of rounding 0.001"));
}

TEST(Judge, ANanThatRoundingMakesIsWeak) {
  const auto judged = [](double compiled, const std::vector<std::vector<double>>& noise,
                         double truth = NAN) {
    // The root of a sum that is 0 in truth.
    const Observation eager = returned(tensor("float16", {NAN, 1}));
    const Observation other = returned(tensor("float16", {compiled, 1}));
    const Observation gold = returned(tensor("float64", {truth, 1}));
    const Observation sampled = samples("float16", noise);
    JudgeRequest request = between(eager, other);
    request.golds[Gold::fp64] = &gold;
    request.golds[Gold::fp64_noise] = &sampled;
    return fixtures::judged(request);
  };
  const Findings turned = judged(1e-4, {{NAN, 1}, {2e-4, 1}});
  EXPECT_EQ(turned.status, Status::conform) << turned.reason;
  EXPECT_THAT(turned.weak, HasSubstr("NaN or infinity turns on how steps are rounded, in 1 of 2"));
  EXPECT_EQ(judged(1e-4, {{NAN, 1}}).status, Status::nonfinite_diverges);
  EXPECT_EQ(judged(1e-4, {{NAN, 1}}, 1e-9).status, Status::conform) << "the gold has it";
  EXPECT_EQ(judged(INFINITY, {{NAN, 1}}, 1e9).status, Status::conform) << "infinite in float16";
  EXPECT_EQ(judged(INFINITY, {{NAN, 1}, {2e-4, 1}}).status, Status::nonfinite_diverges);
}

TEST(Judge, ATieThatFallsToTheOtherSideIsNoMissingCast) {
  const std::vector<double> ones(64, 1.0);
  const auto judged = [&](std::size_t moved, double to, std::size_t samples_moved) {
    std::vector<double> c = ones, s = ones;
    for (std::size_t i = 0; i < moved; ++i) c[i] = to;
    for (std::size_t i = 0; i < samples_moved; ++i) s[63 - i] = 1.25;
    const Observation eager = returned(tensor("float16", ones));
    const Observation compiled = returned(tensor("float16", c));
    const Observation gold = returned(tensor("float16", ones));
    const Observation noise = samples("float16", {ones, s});
    JudgeRequest request = between(eager, compiled);
    request.golds[Gold::stepwise] = &gold;
    request.golds[Gold::stepwise_noise] = &noise;
    request.contract = Contract::casts;
    return fixtures::judged(request);
  };
  EXPECT_EQ(judged(2, 1.25, 1).status, Status::conform);
  EXPECT_EQ(judged(2, 1.25, 0).status, Status::value_diverges);
  EXPECT_EQ(judged(5, 1.25, 1).status, Status::value_diverges) << "in too many elements";
  EXPECT_EQ(judged(1, 1.75, 1).status, Status::value_diverges) << "too far";
}

TEST(Judge, TheCastsOfABackwardAreInNobodysContract) {
  const auto with_gradient = [](double of) {
    const DataValue y = tensor("float32", {1}), gradient = tensor("float32", {of});
    return returned({CallResult{{{"y", y}}, {}, {{"x", gradient}}}});
  };
  const Observation eager = with_gradient(0.5), compiled = with_gradient(0.4995);
  const Observation gold = with_gradient(0.4995);
  JudgeRequest request = between(eager, compiled);
  request.golds[Gold::fp64] = &gold;
  request.golds[Gold::stepwise] = &eager;
  request.contract = Contract::casts;
  EXPECT_EQ(judge(request).status, Status::conform) << judge(request).reason;
}

}  // namespace
}  // namespace lockstep
