#include "verdict/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "judge/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

/// A pointwise case under `bits`, with x as its input and the gold as its truth.
struct Swept {
  Tensor x, eager, compiled;
  std::optional<Tensor> gold = {};
  bool pointwise = true;

  Findings judged() const {
    const Observation e = returned(eager), c = returned(compiled);
    const std::vector<NamedValues> inputs = {{{"x", x}, {"dim", ScalarValue(std::int64_t{3})}}};
    const Observation truth = gold ? returned(*gold) : Observation{};
    JudgeRequest request;
    request.eager = &e;
    request.compiled = &c;
    request.golds[Gold::fp64] = gold ? &truth : nullptr;
    request.inputs = &inputs;
    request.pointwise = pointwise;
    request.policy_of = [](std::string_view) { return Policy{}; };
    return judge(request);
  }
};

Swept of(const std::vector<double>& x, const std::vector<double>& e, const std::vector<double>& c) {
  return {tensor("float16", x), tensor("float16", e), tensor("float16", c), tensor("float64", e)};
}

TEST(Finding, SaysWhatDiffersWhereAndWhoIsNearer) {
  const Findings found = of({-0.9995, 1, 2, 3}, {-4.5, 1, 2, 3}, {-4.496, 1, 2, 3}).judged();
  EXPECT_EQ(found.status, Status::value_diverges);
  EXPECT_EQ(finding(found),
            "y: 1 of 4 differ: 1 last bits; at most 1 ulp; first x = -0.9995 (0xbbff): eager -4.5, "
            "compiled -4.496; there eager is within 0 ulp of the truth, compiled "
            "within 1 ulp of the truth");
  EXPECT_THAT(found.reason, HasSubstr("(policy bits): 1 last bits; where they differ, eager is "));
}

TEST(Finding, EachSabotageIsInTheReason) {
  const std::vector<double> good = {NAN, INFINITY, 0.0, 0x1p-20, 1.0, 1.0};
  const auto reason = [&](std::vector<double> bad) {
    Swept sweep = of(good, good, bad);
    sweep.gold.reset();
    return sweep.judged().reason;
  };
  EXPECT_EQ(reason(good), "");
  EXPECT_THAT(reason({1, INFINITY, 0, 0x1p-20, 1, 1}), EndsWith("(policy bits): 1 NaN"));
  EXPECT_THAT(reason({1, 1, -0.0, 0, 1.001, 2}),
              EndsWith("(policy bits): 1 NaN, 1 infinity, 1 sign of zero, 1 subnormal, 1 last "
                       "bits, 1 value"));
}

TEST(Finding, OnlyPointwiseCasesAreLookedAtCloser) {
  Swept sweep = of({1, 2}, {1, 2}, {1, 3});
  sweep.pointwise = false;
  const Findings found = sweep.judged();
  EXPECT_THAT(found.reason, HasSubstr("(policy bits); compiled is further"));
  EXPECT_THAT(found.outputs[0].first, IsEmpty());
  EXPECT_THAT(found.outputs[0].accuracy, IsEmpty());
  EXPECT_EQ(found.outputs[0].classes, (DifferenceClasses{.value = 1}));
  EXPECT_THAT(finding(found), HasSubstr("worst at [1]: eager 2.0, compiled 3.0"));
}

TEST(Finding, AccuracyIsThereWhereEverythingIsEqual) {
  Swept sweep = of({0, 1}, {0.5, 1}, {0.5, 1});
  sweep.gold = tensor("float64", {0.5, 1 + 0x1p-12});
  const Findings found = sweep.judged();
  EXPECT_EQ(found.status, Status::conform);
  ASSERT_EQ(found.outputs.size(), 1u);
  EXPECT_THAT(found.outputs[0].accuracy,
              ElementsAre(Accuracy{"normal", 1, 0.25, 0.25}, Accuracy{"special", 1, 0, 0}));
  EXPECT_THAT(found.outputs[0].first, IsEmpty());
}

TEST(Finding, OutputsWithoutUlpHaveNoAccuracy) {
  for (const std::string_view dtype : {"bool", "int32", "float64", "complex64"}) {
    const Tensor y = zeros(dtype, {2}), other = zeros(dtype, {2});
    (*other.bytes)[0] = std::byte{1};
    const Tensor gold = zeros(y.view.dtype->is_complex() ? "complex128" : "float64", {2});
    const Findings found = Swept{tensor("float16", {1, 2}), y, other, gold}.judged();
    EXPECT_THAT(found.outputs[0].accuracy, IsEmpty()) << dtype;
    ASSERT_EQ(found.outputs[0].first.size(), 1u) << dtype;
    EXPECT_THAT(found.outputs[0].first[0].inputs, ElementsAre("x = 1.0 (0x3c00)"));
  }
}

TEST(Finding, GradientsAreOutputs) {
  const Tensor x = tensor("float32", {1, 2}), good = tensor("float32", {3, 4}),
               bad = tensor("float32", {3, NAN}), gold = tensor("float64", {3, 4});
  const Observation e = returned({CallResult{{}, {}, {{"x", good}}}}),
                    c = returned({CallResult{{}, {}, {{"x", bad}}}}),
                    g = returned({CallResult{{}, {}, {{"x", gold}}}});
  const std::vector<NamedValues> inputs = {{{"x", x}}};
  JudgeRequest request;
  request.eager = &e;
  request.compiled = &c;
  request.golds[Gold::fp64] = &g;
  request.inputs = &inputs;
  request.pointwise = true;
  const Findings found = judge(request);
  EXPECT_EQ(found.outputs[0].accuracy, (std::vector{Accuracy{"normal", 2, 0, HUGE_VAL},
                                                    Accuracy{"differing", 1, 0, HUGE_VAL}}));
  EXPECT_THAT(finding(found), testing::StartsWith("grad x: 1 of 2 differ: 1 NaN; first x = 2.0 "
                                                  "(0x40000000): eager 4.0, compiled nan"));
}

TEST(Finding, WithoutADifferenceItIsTheReason) {
  Findings found;
  found.reason = "the worker died";
  EXPECT_EQ(finding(found), "the worker died");
  found.outputs.emplace_back().status = Status::metadata_diverges;
  EXPECT_EQ(finding(found), "the worker died");
}

}  // namespace
}  // namespace lockstep
