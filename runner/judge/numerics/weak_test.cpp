#include "judge/numerics/weak.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "judge/numerics/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;
using testing::HasSubstr;

std::string weak(const Tensor& eager, const Tensor& compiled, std::string_view policy,
                 const Tensor* gold = nullptr) {
  Subject subject;
  subject.eager = &eager.view;
  subject.compiled = &compiled.view;
  if (gold != nullptr) subject.golds[Gold::fp64] = &gold->view;
  Comparison comparison(std::move(subject));
  const CheckResult result = comparison.check(*parse_policy(policy));
  EXPECT_TRUE(result.holds()) << result.reason;
  return weakness(comparison, result);
}

std::string weak(const std::vector<double>& e, const std::vector<double>& c,
                 std::string_view policy = "close", std::string_view dtype = "float32") {
  return weak(tensor(dtype, e), tensor(dtype, c), policy);
}

TEST(Weak, OnlyTheSignOfZero) {
  EXPECT_EQ(weak({0, 1, -0.0}, {-0.0, 1, 0}, "equal"),
            "only the sign of zero differs, in 2 of 3 elements");
  EXPECT_NE(weak({0, 1}, {-0.0, 1}, "ulp(4)"), "");
  EXPECT_EQ(weak({0, 1}, {-0.0, 1 + 0x1p-23}), "");
  EXPECT_EQ(weak({0, 1}, {0, 1}), "");
}

TEST(Weak, OnlyTheAbsoluteTolerance) {
  EXPECT_EQ(weak({0}, {1e-30}),
            "only the absolute tolerance lets it pass: 1e-30 apart at a magnitude of 1e-30");
  EXPECT_THAT(weak({1e-7}, {1.001e-7}), HasSubstr("1e-10 apart at a magnitude of 1e-07"));
  EXPECT_NE(weak({0, 5}, {1e-30, 5}), "") << "beside what is equal";
  EXPECT_NE(weak({1e-7, 3e-7}, {1.1e-7, 3.0000001e-7}), "") << "a tenth of a small tensor";
  // What cancels does not matter where its neighbours agree: rounding has touched both.
  EXPECT_EQ(weak({1e-9, 5}, {2e-9, 5 + 0x1p-21}), "");
  // A few bits of rounding in a small tensor are honest.
  EXPECT_EQ(weak({1e-7}, {1e-7 * (1 + 8 * 0x1p-23)}), "");
  EXPECT_NE(weak({1e-6, 1}, {1.2e-6, 1}, "close", "bfloat16"), "");
  EXPECT_EQ(weak({1e-6, 1}, {1.03e-6, 1}, "close", "bfloat16"), "");
  // The tolerance of a case is its author's: only its absolute part is suspect.
  EXPECT_EQ(weak({1e-7}, {1.001e-7}, "close(rtol=1e-2, atol=1e-9)"), "");
  EXPECT_NE(weak({1e-7}, {1.001e-7}, "close(rtol=0, atol=1e-5)"), "");
  EXPECT_NE(weak({1e-7}, {2e-7}, "same(1e-4)"), "");
  EXPECT_EQ(weak({1.0}, {1.00005}, "same(1e-4)"), "");
  // One rule that says something is enough.
  EXPECT_EQ(weak({1e-7}, {1e-7 * (1 + 0x1p-23)}, "all_of(close, ulp(4))"), "");
  EXPECT_EQ(weak({0}, {0x1p-149}, "all_of(close, ulp(4))"), "");
  EXPECT_NE(weak({0}, {0x1p-149}, "any_of(close, ulp(4))"), "");
}

TEST(Weak, EagerThatIsFarFromTheGold) {
  const Tensor eager = tensor("float32", {1.41}), compiled = tensor("float32", {0.59});
  const Tensor gold = tensor("float64", {1});
  EXPECT_EQ(weak(eager, compiled, "any_of(close, no_worse(1))", &gold),
            "eager itself is far from the fp64 gold: 0.41 off, of numbers up to 1");
  EXPECT_NE(weak(eager, compiled, "same(1e-3)", &gold), "") << "its RMSE is eager's";
  // A tenth off is coarse, and eager no witness that nothing can be known.
  const Tensor near = tensor("float32", {1.1}), other = tensor("float32", {0.9});
  EXPECT_EQ(weak(near, other, "no_worse(1)", &gold), "");
  // Both are wrong in the same way: then the golds say nothing, and the sides agree.
  EXPECT_EQ(weak(eager, tensor("float32", {1.4100001}), "no_worse(1)", &gold), "");
  // Small numbers beside a large one, which hides them from the greatest error.
  std::vector<double> truth(40, 1), e(40, 1), c(40, 1);
  truth[0] = e[0] = c[0] = 1000;
  for (const std::size_t at : {3, 4}) {
    e[at] = 1.5;
    c[at] = 0.5;
  }
  const Tensor many = tensor("float64", truth);
  EXPECT_EQ(weak(tensor("float32", e), tensor("float32", c), "no_worse(1)", &many),
            "eager itself is far from the fp64 gold: 2 of 40 numbers are more than an eighth off");
  e[4] = c[4] = 1;
  EXPECT_EQ(weak(tensor("float32", e), tensor("float32", c), "no_worse(1)", &many), "");
}

TEST(Weak, IntegersAreEqualOrNot) {
  EXPECT_EQ(weak({1, 2}, {1, 3}, "close(rtol=1, atol=1)", "int64"), "");
}

}  // namespace
}  // namespace lockstep
