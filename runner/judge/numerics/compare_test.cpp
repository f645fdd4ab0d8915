#include "judge/numerics/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "judge/numerics/fixtures.h"
#include "judge/numerics/same.h"

namespace lockstep {
namespace {

using namespace fixtures;
using testing::HasSubstr;

/// One output under trial; golds where given.
struct Trial {
  Tensor eager, compiled;
  std::optional<Tensor> fp64 = {}, stepwise = {};
  std::map<std::string, Tensor, std::less<>> others =
      {};  ///< tensors of the same call, the same on both sides

  Comparison comparison() const {
    Subject subject;
    subject.eager = &eager.view;
    subject.compiled = &compiled.view;
    if (fp64) subject.golds[Gold::fp64] = &fp64->view;
    if (stepwise) subject.golds[Gold::stepwise] = &stepwise->view;
    subject.eager_tensor =
        subject.compiled_tensor = [this](std::string_view name) -> const TensorView* {
      const auto found = others.find(name);
      return found == others.end() ? nullptr : &found->second.view;
    };
    return Comparison(std::move(subject));
  }
  CheckResult check(std::string_view policy) const {
    return comparison().check(*parse_policy(policy));
  }
  bool holds(std::string_view policy) const { return check(policy).holds(); }
  Status status(std::string_view policy) const { return check(policy).status; }
};

Trial trial(std::string_view dtype, const std::vector<double>& e, const std::vector<double>& c) {
  return {tensor(dtype, e), tensor(dtype, c)};
}

Trial of_bits(std::string_view dtype, std::uint64_t e, std::uint64_t c) {
  Trial made{zeros(dtype, {1}), zeros(dtype, {1})};
  set_bits(made.eager, 0, e);
  set_bits(made.compiled, 0, c);
  return made;
}

TEST(Compare, NanPayloads) {
  const Trial payload = of_bits("float32", 0x7fc00000, 0xffc00001);
  EXPECT_TRUE(payload.holds("bits"));
  EXPECT_TRUE(payload.holds("close"));
  EXPECT_FALSE(payload.holds("bits_strict"));
  EXPECT_EQ(payload.check("bits_strict").reason,
            "1 of 1 elements differ in the payload of a NaN, first at [0]: eager nan (0x7fc00000), "
            "compiled nan (0xffc00001)");
  EXPECT_EQ(payload.comparison().grade(), Grade::bits);
}

TEST(Compare, SignOfZeroIsABitAndNoDistance) {
  const Trial zero = trial("float32", {0.0, 5}, {-0.0, 5});
  EXPECT_EQ(zero.check("bits").reason,
            "1 of 2 elements differ, first at [0]: eager 0.0, compiled -0.0");
  for (const std::string_view policy :
       {"equal", "ulp(0)", "close", "exact", "no_worse(1)", "stepwise(0)", "same"}) {
    EXPECT_TRUE(zero.holds(policy)) << policy;
  }
  EXPECT_EQ(zero.comparison().pair().max_ulp, 0u);
  EXPECT_EQ(zero.comparison().grade(), Grade::ulp4);
}

TEST(Compare, SubnormalsFlushedOnOneSide) {
  const Trial flushed = trial("float32", {0x1p-149, 0x1p-127}, {0, 0});
  EXPECT_FALSE(flushed.holds("bits"));
  EXPECT_FALSE(flushed.holds("ulp(4)"));
  EXPECT_EQ(flushed.comparison().pair().max_ulp, std::uint64_t{1} << 22);
  EXPECT_TRUE(flushed.holds("close"));  // within atol
  EXPECT_FALSE(flushed.holds("close(rtol=1e-3, atol=0)"));
}

TEST(Compare, InfinityOnOneSideFailsWhateverThePolicy) {
  const Trial overflow = trial("float16", {INFINITY, 1}, {65504, 1});
  for (const std::string_view policy :
       {"bits", "ulp(1)", "ulp(100)", "close(rtol=1, atol=1e9)", "equal", "same(1)",
        "no_worse(1e9)", "stepwise(1e9)", "any_of(close, no_worse(1))"}) {
    EXPECT_EQ(overflow.status(policy), Status::nonfinite_diverges) << policy;
  }
  EXPECT_EQ(overflow.comparison().grade(), Grade::none);
}

TEST(Compare, Fp8HasNoInfinity) {
  const Trial nan = of_bits("float8_e4m3fn", 0x7f, 0x7e);  // NaN against 448
  EXPECT_EQ(nan.status("close"), Status::nonfinite_diverges);
  EXPECT_TRUE(of_bits("float8_e4m3fn", 0x7f, 0xff).holds("bits"));
  EXPECT_FALSE(of_bits("float8_e4m3fn", 0x38, 0x39).holds("close"));  // exact by the table
  EXPECT_TRUE(of_bits("float8_e4m3fn", 0x38, 0x39).holds("ulp(1)"));
  EXPECT_EQ(of_bits("float8_e4m3fnuz", 0x80, 0x00).status("close"), Status::nonfinite_diverges);
}

TEST(Compare, ComplexParts) {
  EXPECT_EQ(trial("complex64", {1, NAN}, {NAN, 1}).status("close"), Status::nonfinite_diverges);
  EXPECT_TRUE(trial("complex64", {1, NAN}, {1, NAN}).holds("bits"));
  const Trial z = trial("complex64", {3, 4}, {3, 4.000001});
  EXPECT_FALSE(z.holds("bits"));
  EXPECT_TRUE(z.holds("close"));
  EXPECT_TRUE(z.holds("ulp(2)"));
  EXPECT_EQ(z.check("bits").reason,
            "1 of 1 elements differ, greatest |Δ| 9.54e-07 at [0]: eager (3.0+4.0j), compiled "
            "(3.0+4.000001j)");
  EXPECT_FALSE(trial("complex128", {3, 4}, {3, -4}).holds("close"));
}

TEST(Compare, Integers) {
  const Trial wide = of_bits("uint64", ~std::uint64_t{0},
                             ~std::uint64_t{0} - 1);  // not to be told apart as doubles
  EXPECT_FALSE(wide.holds("exact"));
  EXPECT_FALSE(wide.holds("close"));
  EXPECT_TRUE(wide.holds("ulp(1)"));
  EXPECT_EQ(wide.comparison().pair().max_ulp, 1u);
  EXPECT_EQ(wide.comparison().grade(), Grade::none);
  EXPECT_EQ(
      of_bits("int64", std::uint64_t{1} << 63, ~std::uint64_t{0} >> 1).comparison().pair().max_ulp,
      ~std::uint64_t{0});
  EXPECT_FALSE(trial("int64", {100000}, {100005}).holds("same"));
  EXPECT_TRUE(trial("int32", {100}, {101}).holds("close(rtol=0, atol=1)"));
}

TEST(Compare, ABoolIsItsByte) {
  EXPECT_TRUE(of_bits("bool", 1, 1).holds("exact"));
  EXPECT_FALSE(of_bits("bool", 1, 0).holds("exact"));
  EXPECT_EQ(of_bits("bool", 1, 2).check("exact").reason,
            "1 of 1 elements differ, greatest |Δ| 1 at [0]: eager True, compiled True (byte 0x02)");
}

TEST(Compare, EmptyAndZeroDimensional) {
  EXPECT_TRUE(trial("float32", {}, {}).holds("bits"));
  OutputComparison output;
  trial("float32", {}, {}).comparison().add_numbers(output);
  EXPECT_TRUE(output.vacuous);
  const Trial scalar{reshaped(tensor("float32", {1}), {}), reshaped(tensor("float32", {2}), {})};
  EXPECT_EQ(scalar.check("bits").reason,
            "1 of 1 elements differ, greatest |Δ| 1 at []: eager 1.0, compiled 2.0");
}

TEST(Compare, StridedViewsAreComparedByIndex) {
  Trial strided{reshaped(tensor("float32", {1, 2, 3, 4, 5, 6}), {2, 3}),
                reshaped(tensor("float32", {1, 4, 2, 5, 3, 7}), {2, 3})};
  strided.compiled.view.strides = {1, 2};
  EXPECT_EQ(strided.check("bits").reason,
            "1 of 6 elements differ, greatest |Δ| 1 at [1, 2]: eager 6.0, compiled 7.0");
  Trial expanded{reshaped(tensor("float32", {1, 2}), {2}),
                 reshaped(tensor("float32", {1, 1}), {2})};
  expanded.compiled.view.strides = {0};
  EXPECT_EQ(expanded.comparison().pair().differing, 1);
  expanded.eager.view.strides = {0};
  EXPECT_TRUE(expanded.holds("bits"));
}

TEST(Compare, ConjAndNegAreResolved) {
  Trial z = trial("complex64", {1, 2}, {1, -2});
  z.compiled.view.conj = true;
  EXPECT_TRUE(z.holds("bits"));
  Trial x = trial("float32", {1, -2}, {-1, 2});
  EXPECT_FALSE(x.holds("bits"));
  x.eager.view.neg = true;
  EXPECT_TRUE(x.holds("bits"));
}

TEST(Compare, Ulp) {
  const Trial three = trial("float32", {1.0}, {1.0 + 3 * 0x1p-23});
  EXPECT_TRUE(three.holds("ulp(3)"));
  EXPECT_FALSE(three.holds("ulp(2)"));
  EXPECT_THAT(three.check("ulp(2)").reason, HasSubstr("up to 3 ulp apart, 2 allowed"));
}

TEST(Compare, CloseWidensWithTheLengthOfTheSum) {
  const Trial sum = trial("float32", {100, 3}, {100, 3.0005});
  EXPECT_FALSE(sum.holds("close"));
  EXPECT_TRUE(sum.holds("close(k=65536)"));  // 16 sqrt(65536) 2^-24 * 100 = 0.024
  EXPECT_FALSE(sum.holds("close(k=16)"));    // 0.00038
  EXPECT_FALSE(trial("float32", {100, 3}, {100, 3.1}).holds("close(k=65536)"));
  EXPECT_FALSE(trial("int64", {100}, {101}).holds("close(k=65536)"));
}

TEST(Compare, NoWorse) {
  Trial worse = trial("float32", {1.0, 2.0}, {1.0, 2.001});
  EXPECT_THAT(worse.check("no_worse(1)").reason, HasSubstr("no fp64 gold"));
  worse.fp64 = tensor("float64", {1.0, 2.0005});
  EXPECT_TRUE(worse.holds("no_worse(1.01)"));
  worse.fp64 = tensor("float64", {1.0, 2.0001});
  EXPECT_FALSE(worse.holds("no_worse(1)"));
  EXPECT_TRUE(worse.holds("no_worse(10)"));
  worse.fp64 = tensor("float64", {1.0, 2.001});
  EXPECT_TRUE(worse.holds("no_worse(1)"));
  EXPECT_EQ(worse.comparison().grade(), Grade::no_worse1);
  worse.fp64 = tensor("float64", {1.0, NAN});  // the gold says nothing where it must
  EXPECT_FALSE(worse.holds("no_worse(1e9)"));
}

TEST(Compare, StepwiseNoticesAnElidedCast) {
  // e = x.half().float(), c = x: the fp64 gold does not know of the cast.
  const double x = 0.1234567;
  const double half = decode_float(*find_dtype("float16"), encode_float(*find_dtype("float16"), x));
  Trial cast = trial("float32", {half}, {x});
  cast.fp64 = tensor("float64", {x});
  cast.stepwise = tensor("float32", {half});
  EXPECT_TRUE(cast.holds("no_worse(1)"));
  EXPECT_TRUE(cast.holds("same_upstream"));
  EXPECT_FALSE(cast.holds("stepwise(1)"));
  EXPECT_FALSE(cast.holds("any_of(close, stepwise(1))"));
  EXPECT_TRUE(trial("float32", {1}, {1}).holds("stepwise(0)"));
  EXPECT_THAT(cast.check("stepwise(1)").reason,
              HasSubstr("1 of 1 elements more than 1 ulp further from the stepwise gold"));
  cast.stepwise.reset();
  EXPECT_FALSE(cast.holds("stepwise(1)"));
}

TEST(Compare, SameIsHardenedAgainstEachHoleOfUpstream) {
  const auto both = [](const Trial& trial) {
    return std::pair(trial.holds("same"), trial.holds("same_upstream"));
  };
  // Integers apart.
  EXPECT_EQ(both(trial("int64", {100000}, {100005})), std::pair(false, true));
  // An infinity on one side makes upstream's RMSE infinite, and everything passes.
  Trial infinite = trial("float32", {INFINITY, 1}, {-1e9, 7});
  infinite.fp64 = tensor("float64", {300, 1});
  EXPECT_EQ(both(infinite), std::pair(false, true));
  // Shapes that broadcast: the judge never gets there; the rule itself accepts.
  EXPECT_TRUE(
      *same_upstream(tensor("float32", {1}), tensor("float32", {1, 1, 1}), nullptr, 1e-4, true));
  EXPECT_FALSE(
      same_upstream(tensor("float32", {1, 2}), tensor("float32", {1, 1, 1}), nullptr, 1e-4, true));
  // An elided cast.
  Trial cast = trial("float32", {0.12347412109375}, {0.1234567});
  EXPECT_EQ(both(cast), std::pair(true, true));  // within the tolerance it is none
  cast = trial("float32", {std::vector<double>(8, 100.0625)}, {std::vector<double>(8, 100.04)});
  cast.fp64 = tensor("float64", std::vector<double>(8, 100.04));
  EXPECT_EQ(both(cast), std::pair(true, true));
  cast.stepwise = tensor("float32", std::vector<double>(8, 100.0625));
  EXPECT_EQ(both(cast), std::pair(false, true));
  EXPECT_THAT(cast.check("same").reason, HasSubstr("RMSE against the stepwise gold"));
}

TEST(Compare, SameUsesTheGold) {
  Trial far = trial("float32", {1.0, 2.0}, {1.0, 2.1});
  EXPECT_FALSE(far.holds("same(1e-3)"));
  EXPECT_TRUE(far.holds("same(0.1)"));
  far.fp64 = tensor("float64", {1.0, 2.08});
  EXPECT_TRUE(far.holds("same(1e-3)"));
  far.fp64 = tensor("float64", {1.0, 2.0});
  EXPECT_FALSE(far.holds("same(1e-3)"));
}

TEST(Compare, AnyOfAndAllOf) {
  const Trial apart = trial("float32", {1.0}, {1.0 + 3 * 0x1p-23});
  EXPECT_TRUE(apart.holds("any_of(bits, ulp(3))"));
  EXPECT_FALSE(apart.holds("any_of(bits, ulp(2))"));
  EXPECT_TRUE(apart.holds("all_of(close, ulp(3))"));
  EXPECT_FALSE(apart.holds("all_of(close, bits)"));
  EXPECT_EQ(apart.check("any_of(bits, ulp(2))").reason,
            "1 of 1 elements differ, greatest |Δ| 3.58e-07 at [0]: eager 1.0, compiled 1.0000004; "
            "up to 3 ulp apart, 2 allowed");
}

TEST(Compare, IndexEquivalent) {
  const Tensor x = reshaped(tensor("float32", {5, 7, 7, 1, NAN, 2}), {2, 3});
  const auto argmax = [&](std::vector<double> e, std::vector<double> c,
                          std::string_view policy = "index_equivalent(x, dim=1)") {
    Trial indices = trial("int64", e, c);
    indices.others = {{"x", x}};
    return indices.check(policy);
  };
  EXPECT_TRUE(argmax({1, 1}, {2, 1}).holds());  // a tie
  EXPECT_EQ(argmax({1, 1}, {0, 1}).reason,
            "1 of 2 indices select other values, first at [0]: index 0 selects 5.0, eager's 1 "
            "selects 7.0");
  EXPECT_THAT(argmax({1, 1}, {1, 3}).reason, HasSubstr("index 3, eager's 1, of 3"));
  EXPECT_FALSE(argmax({1, 1}, {-1, 1}).holds());
  EXPECT_TRUE(argmax({1}, {2}, "index_equivalent(x)").holds());
  EXPECT_FALSE(argmax({1}, {0}, "index_equivalent(x)").holds());
  EXPECT_THAT(argmax({1, 1}, {2, 1}, "index_equivalent(nobody, dim=1)").reason,
              HasSubstr("'nobody' is no tensor"));
  EXPECT_THAT(argmax({1, 1}, {2, 1}, "index_equivalent(x, dim=5)").reason,
              HasSubstr("no dimension 5"));
  EXPECT_THAT(argmax({1, 1}, {2, 1}, "index_equivalent(x, dim=0)").reason,
              HasSubstr("do not select"));
}

TEST(Compare, IndexEquivalentOfASortNamesEveryElementOnce) {
  const Tensor x = tensor("float32", {7, 7, 1});
  const auto sorted = [&](std::vector<double> c) {
    Trial indices = trial("int64", {2, 0, 1}, c);
    indices.others = {{"x", x}};
    return indices.check("index_equivalent(x, dim=0)");
  };
  EXPECT_TRUE(sorted({2, 1, 0}).holds());
  EXPECT_EQ(sorted({2, 0, 0}).reason, "1 indices name an element that another one names too");
}

TEST(Compare, GradesAreALadder) {
  const auto grade = [](std::vector<double> e, std::vector<double> c) {
    return trial("float32", e, c).comparison().grade();
  };
  EXPECT_EQ(grade({1}, {1}), Grade::bits);
  EXPECT_EQ(grade({1}, {1 + 4 * 0x1p-23}), Grade::ulp4);
  EXPECT_EQ(grade({1}, {1 + 8 * 0x1p-23}), Grade::close);
  EXPECT_EQ(grade({1}, {1.0005}), Grade::same1e3);
  EXPECT_EQ(grade({1}, {1.1}), Grade::none);
}

}  // namespace
}  // namespace lockstep
