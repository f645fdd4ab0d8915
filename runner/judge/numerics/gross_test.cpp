#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "judge/numerics/compare.h"
#include "judge/numerics/fixtures.h"

// The second condition of no_worse(k): what the greatest error hides where outputs have a wide
// range, and what rounding makes of sums that cancel.

namespace lockstep {
namespace {

using namespace fixtures;
using testing::HasSubstr;

Comparison against(const Tensor& eager, const Tensor& compiled, const Tensor& gold) {
  Subject subject;
  subject.eager = &eager.view;
  subject.compiled = &compiled.view;
  subject.golds[Gold::fp64] = &gold.view;
  return Comparison(std::move(subject));
}

CheckResult check(const Tensor& eager, const Tensor& compiled, const Tensor& gold,
                  std::string_view policy) {
  return against(eager, compiled, gold).check(*parse_policy(policy));
}

// exp over [-10, 10): the greatest element's rounding error is larger than most of the others.
TEST(GrossErrors, ALargeElementDoesNotBuyTheSmallOnesTheirError) {
  std::vector<double> truth, flushed, near;
  for (int i = 0; i < 400; ++i) truth.push_back(std::exp(-10 + i * 0.05));
  const double least = truth.back() / 600;
  for (const double g : truth) {
    flushed.push_back(g < least ? 0 : g);
    near.push_back(g * (1 + 0x1p-10));  // as wrong as rounding makes it
  }
  for (const char* dtype : {"bfloat16", "float16", "complex64"}) {
    const Tensor gold =
        tensor(std::string_view(dtype) == "complex64" ? "complex128" : "float64", truth);
    // Eager rounds to eight bits under every dtype, so that its greatest error allows the flush.
    std::vector<double> rounded;
    for (const double g : truth) {
      rounded.push_back(
          decode_float(*find_dtype("bfloat16"), encode_float(*find_dtype("bfloat16"), g)));
    }
    const Tensor eager = tensor(dtype, rounded);
    const CheckResult wrong = check(eager, tensor(dtype, flushed), gold, "no_worse(1)");
    EXPECT_THAT(wrong.reason, HasSubstr("of 400 numbers grossly wrong against fp64, 0 in eager"))
        << dtype;
    EXPECT_FALSE(check(eager, tensor(dtype, flushed), gold, "no_worse(100)").holds());
    EXPECT_FALSE(check(eager, tensor(dtype, flushed), gold, "any_of(close, no_worse(1))").holds());
    EXPECT_NE(against(eager, tensor(dtype, flushed), gold).grade(), Grade::no_worse1);
    EXPECT_TRUE(check(eager, tensor(dtype, near), gold, "no_worse(1)").holds()) << dtype;
    // Eager that is as wrong has nothing to say.
    EXPECT_TRUE(check(tensor(dtype, flushed), tensor(dtype, near), gold, "no_worse(1)").holds());
  }
}

TEST(GrossErrors, AFewAreAllowedAndThoseNearZeroAreNone) {
  const auto holds = [](std::size_t count, std::size_t wrong, double small, double by) {
    std::vector<double> truth(count, small), compiled(count, small);
    truth.back() = 1e6, compiled.back() = 1e6 + 1;
    for (std::size_t i = 0; i < wrong; ++i) compiled[i] += by;
    std::vector<double> eager(count, small);
    eager.back() = 1e6 + 2;
    return check(tensor("float32", eager), tensor("float32", compiled), tensor("float64", truth),
                 "no_worse(1)")
        .holds();
  };
  EXPECT_TRUE(holds(8, 3, 1, 0.5));
  EXPECT_FALSE(holds(8, 4, 1, 0.5));
  EXPECT_TRUE(holds(800, 8, 1, 0.5));
  EXPECT_FALSE(holds(800, 9, 1, 0.5));
  EXPECT_TRUE(holds(3000, 11, 1, 0.5));
  EXPECT_FALSE(holds(3000, 12, 1, 0.5));
  EXPECT_TRUE(holds(800, 799, 1, 0.12));     // an eighth is not exceeded
  EXPECT_TRUE(holds(800, 799, 1e-9, 9e-6));  // atol of close
  EXPECT_FALSE(holds(800, 799, 1e-9, 2e-5));
  // One ulp is a tie that was rounded the other way, however large it is there.
  const Tensor e = tensor("float8_e4m3fn", std::vector<double>(99, 0x1p-9));
  const Tensor c = tensor("float8_e4m3fn", std::vector<double>(99, 0x1p-8));
  const Tensor g = tensor("float64", std::vector<double>(99, 0x1.8p-9));
  EXPECT_TRUE(check(e, c, g, "no_worse(1)").holds());
  // Expanded elements are one.
  Tensor eager = tensor("float32", {1}), compiled = tensor("float32", {2}),
         gold = tensor("float64", {1});
  for (Tensor* side : {&eager, &compiled, &gold}) {
    side->view.shape = {1000};
    side->view.strides = {0};
  }
  EXPECT_EQ(against(eager, compiled, gold).gold_fp64()->compiled_gross, 1);
}

/// A row times a column whose terms cancel but for `left`, in float32, in some order.
struct Sums {
  std::vector<double> eager, compiled, truth;
};
Sums cancelling_matmul(std::mt19937_64& random, double left, std::size_t side, std::size_t terms) {
  std::normal_distribution<double> normal;
  std::vector<float> a(side * terms), b(side * terms);
  for (std::size_t row = 0; row < side; ++row) {
    for (std::size_t k = 0; k < terms; ++k) {
      const std::size_t at = row * terms + k;
      // The second half of a row undoes the first, but for a little.
      const bool undoes = k >= terms / 2;
      a[at] = undoes ? -a[at - terms / 2] : static_cast<float>(100 * normal(random));
      b[at] = undoes ? b[at - terms / 2] + static_cast<float>(left * normal(random))
                     : static_cast<float>(normal(random));
    }
  }
  Sums sums;
  for (std::size_t i = 0; i < side * side; ++i) {
    const float* x = a.data() + i / side * terms;
    const float* y = b.data() + i % side * terms;
    double truth = 0;
    float forward = 0;
    float lanes[8] = {};  // as vectorised code sums
    for (std::size_t k = 0; k < terms; ++k) {
      truth += static_cast<double>(x[k]) * y[k];
      forward += x[k] * y[k];
      lanes[k * 5 % 8] += x[k] * y[k];
    }
    float tree = 0;
    for (const float lane : lanes) tree += lane;
    sums.truth.push_back(truth);
    sums.eager.push_back(forward);
    sums.compiled.push_back(tree);
  }
  return sums;
}

// No false alarm where rounding decides: sums of another order, from no cancellation to one that
// leaves no digit, and both orders in either role.
TEST(GrossErrors, ReorderedSumsThatCancelAreNone) {
  std::mt19937_64 random(31);
  int cancelled = 0;
  for (int trial = 0; trial < 120; ++trial) {
    const double left = std::pow(10.0, -7.0 + trial % 8);
    const Sums sums =
        cancelling_matmul(random, left, 4 + static_cast<std::size_t>(trial % 13), 128);
    const Tensor x = tensor("float32", sums.eager), y = tensor("float32", sums.compiled);
    const Tensor gold = tensor("float64", sums.truth);
    // The lanes' noise is a third of the running sum's at most: as compiled it must pass ...
    const GoldNumbers lanes = *against(x, y, gold).gold_fp64();
    EXPECT_LE(lanes.compiled_gross, lanes.gross_allowed(1)) << "trial " << trial;
    // ... and the running sum must where it is allowed more noise.
    const GoldNumbers running = *against(y, x, gold).gold_fp64();
    EXPECT_LE(running.compiled_gross, running.gross_allowed(4)) << "trial " << trial;
    cancelled += lanes.eager_gross > 0;
  }
  EXPECT_GT(cancelled, 30);  // the sums do cancel
  EXPECT_LT(cancelled, 110);
}

// The constants of GoldNumbers::gross_allowed: two counts of one distribution, as rounding noise in
// bfloat16 makes them, hardly ever fail.
TEST(GrossErrors, FalseAlarmsOfEqualNoiseAreRare) {
  std::mt19937_64 random(32);
  for (const std::int64_t n : {8, 16, 40, 100, 1000, 20'000}) {
    for (const double p : {1e-4, 1e-3, 0.01, 0.03}) {
      std::binomial_distribution<std::int64_t> count(n, p);
      const int trials = 20'000;
      int alarms = 0;
      for (int i = 0; i < trials; ++i) {
        GoldNumbers numbers;
        numbers.looked_at = n;
        numbers.eager_gross = count(random);
        alarms += count(random) > numbers.gross_allowed(1);
      }
      EXPECT_LE(alarms, trials / 300) << n << " numbers, " << p;
    }
  }
}

}  // namespace
}  // namespace lockstep
