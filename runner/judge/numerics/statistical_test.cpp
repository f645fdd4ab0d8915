#include "judge/numerics/statistical.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "judge/numerics/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;
using testing::HasSubstr;

using Draw = std::function<double()>;

CheckResult check(const std::vector<double>& e, const std::vector<double>& c, double probability) {
  const Tensor eager = tensor("float64", e), compiled = tensor("float64", c);
  Subject subject;
  subject.eager = &eager.view;
  subject.compiled = &compiled.view;
  Comparison comparison(std::move(subject));
  return check_statistical(comparison, probability);
}

std::vector<double> sample(const Draw& draw, std::size_t count) {
  std::vector<double> values(count);
  for (double& value : values) value = draw();
  return values;
}

/// How often in so many trials two samples of 300 are found to differ.
double rate(const Draw& e, const Draw& c, double probability, int trials) {
  int differ = 0;
  for (int i = 0; i < trials; ++i)
    differ += !check(sample(e, 300), sample(c, 300), probability).holds();
  return static_cast<double>(differ) / trials;
}

class Statistical : public testing::Test {
 protected:
  std::mt19937_64 random_{5};
  Draw normal(double mean = 0, double deviation = 1) {
    return [this, mean, deviation, of = std::normal_distribution<double>()]() mutable {
      return mean + deviation * of(random_);
    };
  }
  Draw uniform() {
    return [this, of = std::uniform_real_distribution<double>()]() mutable { return of(random_); };
  }
  Draw coin() {
    return [this, of = std::bernoulli_distribution()]() mutable { return of(random_) ? 1.0 : 0.0; };
  }
};

// The stated probability bounds the false alarms, and is not idle either. There are three tests of
// a third each. Here that of the share never alarms, and that of the variance is a little wide, so
// at least a third of it is left. A bound twice as wide would hardly ever alarm.
TEST_F(Statistical, FalseAlarmsAreAsOftenAsStated) {
  for (const Draw& draw : {normal(), uniform(), coin(), normal(1e6, 1e-3)}) {
    const double alarms = rate(draw, draw, 0.05, 3000);
    EXPECT_LE(alarms, 0.05);
    EXPECT_GE(alarms, 0.05 / 6);
    EXPECT_EQ(rate(draw, draw, 1e-9, 300), 0);
  }
}

// z = 2.4 for each test of p = 0.05, and a mean of 300 against one of 300 has the deviation 0.0816:
// so a mean that is 2.4 of these away is found half of the time.
TEST_F(Statistical, FindsAShiftedMeanAndAnotherVariance) {
  EXPECT_NEAR(rate(normal(), normal(2.4 * 0.0816), 0.05, 1000), 0.5, 0.1);
  EXPECT_GT(rate(normal(), normal(0.4), 0.05, 300), 0.98);
  EXPECT_EQ(rate(normal(), normal(1), 1e-9, 100), 1);
  EXPECT_GT(rate(normal(), normal(0, 1.4), 0.05, 300), 0.98);
  EXPECT_THAT(check(sample(normal(), 4000), sample(normal(0.3), 4000), 1e-9).reason,
              HasSubstr("mean "));
  EXPECT_THAT(check(sample(normal(), 4000), sample(normal(0, 1.4), 4000), 1e-9).reason,
              HasSubstr("variance "));
  EXPECT_FALSE(check(std::vector<double>(100, 0.1), std::vector<double>(100, 0.2), 1e-9).holds());
}

TEST_F(Statistical, FindsWhatIsNotFinite) {
  const std::vector<double> fine = sample(normal(), 4000);
  std::vector<double> broken = fine;
  for (std::size_t i = 0; i < 200; ++i) broken[i] = NAN;
  EXPECT_EQ(check(fine, broken, 1e-9).status, Status::nonfinite_diverges);
  // Too few for moments: only what eager has none of.
  const std::vector<double> few(63, 1), other(63, 9), nan(63, NAN);
  std::vector<double> one = few;
  one[7] = INFINITY;
  EXPECT_TRUE(check(few, other, 1e-9).holds());
  EXPECT_EQ(check(few, nan, 1e-9).status, Status::nonfinite_diverges);
  EXPECT_EQ(check(few, one, 1e-9).reason, "1 of 63 numbers are not finite, none in eager");
  EXPECT_TRUE(check(one, nan, 1e-9).holds());
  EXPECT_TRUE(check(nan, few, 1e-9).holds());
}

TEST_F(Statistical, Quantile) { EXPECT_NEAR(normal_quantile(0.05), 1.959964, 1e-6); }

}  // namespace
}  // namespace lockstep
