#include "judge/results_digest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "judge/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;

std::string digest_of_y(const DataValue& y) { return results_digest(returned(y)); }

TEST(ResultsDigest, IsThatOfTheElements) {
  const std::string digest = digest_of_y(tensor("float32", {1, 2, 3}));
  EXPECT_EQ(digest.size(), 16U);
  EXPECT_EQ(digest, digest_of_y(tensor("float32", {1, 2, 3})));
  EXPECT_NE(digest, digest_of_y(tensor("float32", {1, 2, 3 + 0x1p-22})));
  EXPECT_NE(digest, digest_of_y(tensor("float64", {1, 2, 3})));
  EXPECT_NE(digest_of_y(tensor("float32", {0.0})), digest_of_y(tensor("float32", {-0.0})));
  EXPECT_NE(digest_of_y(ScalarValue(std::int64_t{3})), digest_of_y(ScalarValue(3.0)));
}

TEST(ResultsDigest, KnowsOneNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Tensor one = tensor("float32", {1, nan}), other = tensor("float32", {1, -nan});
  EXPECT_EQ(digest_of_y(one), digest_of_y(other));
  EXPECT_NE(digest_of_y(one), digest_of_y(tensor("float32", {nan, 1})));
}

TEST(ResultsDigest, NamesAndPlacesCount) {
  const Tensor x = tensor("float32", {1}), y = tensor("float32", {2});
  const auto of = [](NamedValues outputs, NamedValues inputs) {
    return results_digest(returned({CallResult{std::move(outputs), std::move(inputs), {}}}));
  };
  const std::string digest = of({{"a", x}, {"b", y}}, {});
  EXPECT_NE(digest, of({{"a", y}, {"b", x}}, {}));
  EXPECT_NE(digest, of({{"a", x}}, {{"b", x}}));
}

TEST(ResultsDigest, OfWhatReturnedNothingIsEmpty) {
  EXPECT_EQ(results_digest(raised("RuntimeError", "no")), "");
  EXPECT_EQ(results_digest(ended(Outcome::crashed, 11)), "");
}

TEST(ResultsDigest, IsInTheVerdictUnlessEagerDisagreesWithItself) {
  const Tensor y = tensor("float32", {1, 2, 3});
  EXPECT_EQ(judge_under(returned(y), returned(y), "bits").eager_digest, digest_of_y(y));
  EXPECT_EQ(judge_under(returned(y), ended(Outcome::crashed, 11), "bits").eager_digest,
            digest_of_y(y));
  const Observation noisy = two_runs(y, tensor("float32", {1, 2, 4}));
  EXPECT_EQ(judge_under(noisy, returned(y), "bits").eager_digest, "");
}

}  // namespace
}  // namespace lockstep
