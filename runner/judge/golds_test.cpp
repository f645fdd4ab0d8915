#include "judge/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/fixtures.h"

// What the judge says by golds: who is nearer, and what they decide.
namespace lockstep {
namespace {

using testing::HasSubstr;

TEST(Judge, SaysWhoIsNearerToTheTruth) {
  const Observation eager = returned(tensor("float32", {1.0, 2.0}));
  const Observation compiled = returned(tensor("float32", {1.0, 2.0001}));
  const auto nearer = [&](double truth, const Observation* perturbed = nullptr) {
    const Observation gold = returned(tensor("float64", {1.0, truth}));
    JudgeRequest request;
    request.eager = &eager;
    request.compiled = &compiled;
    request.fp64 = &gold;
    request.perturbed = perturbed;
    request.promise = Promise::bits;
    return judge(request);
  };
  EXPECT_EQ(nearer(2.0000001).nearer, "eager");
  EXPECT_THAT(nearer(2.0000001).reason,
              HasSubstr("; compiled is 998 times further from the fp64 gold (torch's float64 "
                        "kernels) than eager"));
  EXPECT_EQ(nearer(2.0001).nearer, "compiled");
  EXPECT_EQ(nearer(2.00005).nearer, "both");
  const Observation moved = returned(tensor("float64", {1.0, 3.0}));
  EXPECT_EQ(nearer(2.0, &moved).nearer, "ill-conditioned");
  const Observation still = returned(tensor("float64", {1.0, 2.0}));
  EXPECT_EQ(nearer(2.0, &still).nearer, "eager");
}

TEST(Judge, NeverSaysWhoIsNearerWithinTheErrorOfTheGold) {
  const auto judged = [](std::vector<double> e, std::vector<double> c, std::vector<double> truth,
                         std::optional<ValueOrigin> origin, bool pointwise) {
    const Observation eager = returned(tensor("float64", e));
    const Observation compiled = returned(tensor("float64", c));
    Observation gold = returned(tensor("float64", truth));
    if (origin) gold.repetitions.front().front().from["outputs/y"] = *origin;
    JudgeRequest request;
    request.eager = &eager;
    request.compiled = &compiled;
    request.fp64 = &gold;
    request.promise = Promise::bits;
    request.pointwise = pointwise;
    return judge(request);
  };
  const ValueOrigin correct = {"MPFR 4.2.0", 0.5};
  const double ulp = 0x1p-52;
  for (const bool pointwise : {false, true}) {
    // Eager's kernels are the gold's: it proves nothing that they agree.
    EXPECT_EQ(judged({1, 1}, {1, 1 + 64 * ulp}, {1, 1}, {}, pointwise).nearer, "");
    EXPECT_EQ(judged({1, 1 + ulp}, {1, 1 + 64 * ulp}, {1, 1}, {}, pointwise).nearer, "");
    // Eager computed in something narrower.
    EXPECT_EQ(judged({1, 1.0001}, {1, 1}, {1, 1}, {}, pointwise).nearer, "compiled");
    // Rounded once, the gold is half a unit from the truth at most.
    const Verdict eager = judged({1, 1}, {1, 1 + ulp}, {1, 1}, correct, pointwise);
    EXPECT_EQ(eager.nearer, "eager");
    EXPECT_THAT(eager.reason, HasSubstr("the fp64 gold (MPFR 4.2.0)"));
    EXPECT_EQ(eager.outputs.front().gold, "MPFR 4.2.0");
    EXPECT_EQ(judged({1, 1 - ulp / 2}, {1, 1 + ulp}, {1, 1}, correct, pointwise).nearer, "");
    EXPECT_EQ(judged({1, 1 + ulp}, {1, 1}, {1, 1}, correct, pointwise).nearer, "compiled");
  }
}

TEST(Judge, SaysWhyAGoldIsLost) {
  const Observation eager = returned(tensor("float32", {1.0, 2.0}));
  const Observation compiled = returned(tensor("float32", {1.0, 2.1}));
  Observation gold = returned(tensor("float64", {1.0, 2.0}));
  gold.repetitions.front().front().outputs.clear();
  gold.repetitions.front().front().lost["outputs/y"] = "it would draw other numbers";
  JudgeRequest request;
  request.eager = &eager;
  request.compiled = &compiled;
  request.fp64 = &gold;
  EXPECT_THAT(judge(request).reason, HasSubstr("no fp64 gold: it would draw other numbers"));
  request.stepwise = &gold;
  request.promise = Promise::casts;
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
    JudgeRequest request;
    request.eager = &eager;
    request.compiled = &compiled;
    request.fp64 = &gold;
    return judge(request);
  };
  const Verdict infinite = judged("float32", {3e38, 1.5}, {INFINITY, 1}, {3e38, 1});
  EXPECT_EQ(infinite.nearer, "eager");
  EXPECT_THAT(
      infinite.reason,
      testing::EndsWith("; compiled has NaN or infinity where the fp64 gold (torch's float64 "
                        "kernels) has not, or lacks it, in 1 number, eager in none"));
  EXPECT_EQ(judged("float32", {NAN, 1}, {5, 1}, {5, 1}).nearer, "compiled");
  EXPECT_EQ(judged("float32", {NAN, 1}, {5, 1}, {NAN, 1}).nearer, "eager");
  EXPECT_EQ(judged("float32", {INFINITY}, {-INFINITY}, {-INFINITY}).nearer, "compiled");
  EXPECT_EQ(judged("float32", {NAN}, {INFINITY}, {1}).nearer, "both");
  EXPECT_EQ(judged("float32", {NAN, NAN, 7}, {1, 2, NAN}, {1, 2, 7}).nearer, "compiled");
  // What overflows in the dtype is infinite there, whatever the gold holds.
  EXPECT_EQ(judged("float32", {INFINITY, 1}, {3e38, 1}, {1e39, 1}).nearer, "eager");
  EXPECT_EQ(judged("float16", {INFINITY, 1}, {65504, 1}, {1e5, 1}).nearer, "eager");
  EXPECT_EQ(judged("float8_e4m3fn", {NAN, 1}, {448, 1}, {1e5, 1}).nearer, "eager");
  // In double eager is the gold, and that says nothing of either; unless it had narrower steps.
  EXPECT_EQ(judged("float64", {1}, {1 + 0x1p-52}, {1}).nearer, "");
  EXPECT_EQ(judged("float64", {1.5}, {1 + 0x1p-52}, {1}).nearer, "compiled");
  EXPECT_EQ(judged("complex64", {1, NAN}, {1, 2}, {1, 2}).nearer, "compiled");
}

TEST(Judge, IntegersThatTurnOnTheLastBitAreWeak) {
  const auto judged = [](std::vector<double> e, std::vector<double> c, std::vector<double> fp64,
                         std::vector<double> perturbed, Promise promise = Promise::values) {
    const Observation eager = returned(tensor("int64", e));
    const Observation compiled = returned(tensor("int64", c));
    const Observation gold = returned(tensor("int64", fp64));
    const Observation moved = returned(tensor("int64", perturbed));
    JudgeRequest request;
    request.eager = &eager;
    request.compiled = &compiled;
    request.fp64 = &gold;
    request.perturbed = &moved;
    request.promise = promise;
    return judge(request);
  };
  const Verdict turned = judged({1, 5, 7}, {1, 6, 7}, {1, 5, 7}, {1, 6, 7});
  EXPECT_EQ(turned.status, Status::conform);
  EXPECT_THAT(turned.weak, HasSubstr("1 of 3 elements turn on the last bit of the inputs"));
  EXPECT_EQ(judged({1, 5, 7}, {1, 6, 7}, {1, 6, 7}, {1, 6, 7}).status, Status::conform);
  // Where the golds say what eager says, it must be the same; and nothing may be anything.
  EXPECT_EQ(judged({1, 5, 7}, {2, 6, 7}, {1, 5, 7}, {1, 6, 7}).status, Status::value_differs);
  EXPECT_EQ(judged({1, 5, 7}, {1, 10, 7}, {1, 5, 7}, {1, 6, 7}).status, Status::value_differs);
  // Where bits are promised, it is no question.
  EXPECT_EQ(judged({1, 5, 7}, {1, 6, 7}, {1, 5, 7}, {1, 6, 7}, Promise::bits).status,
            Status::value_differs);
}

}  // namespace
}  // namespace lockstep
