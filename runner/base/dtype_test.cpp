#include "base/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace lockstep {
namespace {

TEST(Dtype, EveryNameIsFoundOnce) {
  for (const Dtype& dtype : all_dtypes()) EXPECT_EQ(find_dtype(dtype.name), &dtype) << dtype.name;
  EXPECT_EQ(find_dtype("float15"), nullptr);
}

TEST(Dtype, EveryPatternOfTheSmallFloatsSurvivesTheWayThroughDouble) {
  for (const Dtype& dtype : all_dtypes()) {
    if (!dtype.is_floating() || dtype.bytes > 2) continue;
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << (8 * dtype.bytes)); ++bits) {
      const double value = decode_float(dtype, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode_float(dtype, encode_float(dtype, value))))
            << dtype.name << " " << bits;
      } else {
        ASSERT_EQ(encode_float(dtype, value), bits) << dtype.name << " " << value;
      }
    }
  }
}

/// Halfway between neighbours the even one is taken; a little to either side, the nearer.
TEST(Dtype, RoundsToNearestTiesToEven) {
  for (const Dtype& dtype : all_dtypes()) {
    if (!dtype.is_floating() || dtype.bytes > 2 || dtype.mantissa_bits == 0) continue;
    for (std::uint64_t bits = 0; bits + 1 < (std::uint64_t{1} << (8 * dtype.bytes - 1)); ++bits) {
      const double low = decode_float(dtype, bits), high = decode_float(dtype, bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const double middle = (low + high) / 2;
      ASSERT_EQ(encode_float(dtype, middle), (bits & 1) == 0 ? bits : bits + 1)
          << dtype.name << " " << bits;
      ASSERT_EQ(encode_float(dtype, std::nextafter(middle, -INFINITY)), bits)
          << dtype.name << " " << bits;
      ASSERT_EQ(encode_float(dtype, std::nextafter(middle, INFINITY)), bits + 1)
          << dtype.name << " " << bits;
    }
  }
}

TEST(Dtype, Float32ConversionIsThatOfTheMachine) {
  const Dtype& dtype = *find_dtype("float32");
  for (const double value :
       {0.1, 1e-45, 0.7e-45, 0.71e-45, 1e-40, 3.4028235e38, 3.4028236e38, 1e39, -0.0, 16777217.0}) {
    const float expected = static_cast<float>(value);
    EXPECT_EQ(encode_float(dtype, value), std::bit_cast<std::uint32_t>(expected)) << value;
  }
}

TEST(Dtype, OverflowIsWhatTheFormatHas) {
  EXPECT_EQ(encode_float(*find_dtype("float16"), 65520), 0x7c00U);
  EXPECT_EQ(encode_float(*find_dtype("float16"), 65519.99), 0x7bffU);
  EXPECT_EQ(encode_float(*find_dtype("float8_e4m3fn"), 1000), 0x7fU);
  EXPECT_EQ(encode_float(*find_dtype("float8_e4m3fnuz"), -1000), 0x80U);
  EXPECT_EQ(encode_float(*find_dtype("float8_e8m0fnu"), 3.0),
            128U);  // the tie between 2 (128) and 4 (129)
}

}  // namespace
}  // namespace lockstep
