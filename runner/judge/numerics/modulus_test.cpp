#include "judge/numerics/modulus.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>

#include "base/splitmix.h"

namespace lockstep {
namespace {

TEST(Modulus, IsHypotButForAUnitInTheLastPlace) {
  std::uint64_t state = 1;
  for (int i = 0; i < 100'000; ++i) {
    const auto x = std::bit_cast<double>(splitmix64(state));
    const auto near = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^
                                            (splitmix64(state) >> 8));  // of about the same size
    if (std::isnan(x) || std::isnan(near)) continue;
    const auto got = std::bit_cast<std::int64_t>(modulus(x, near));
    const auto other = std::bit_cast<std::int64_t>(std::hypot(x, near));
    ASSERT_LE(std::llabs(got - other), 1) << x << " " << near;
  }
}

TEST(Modulus, NeitherOverflowsNorVanishesNorLosesInfinity) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(modulus(3e300, 4e300), 5e300);
  EXPECT_EQ(modulus(3e-320, 4e-320), 5e-320);
  EXPECT_EQ(modulus(inf, nan), inf);
  EXPECT_EQ(modulus(nan, -inf), inf);
  EXPECT_TRUE(std::isnan(modulus(nan, 1)));
  EXPECT_EQ(modulus(1e308, 1e308 * 1.7), std::hypot(1e308, 1e308 * 1.7));
}

}  // namespace
}  // namespace lockstep
