#include "judge/numerics/numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "judge/numerics/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;

std::string shown(std::string_view dtype, std::uint64_t bits) {
  const Tensor one = zeros(dtype, {1});
  set_bits(one, 0, bits);
  return format_element(*one.view.dtype, one.bytes->data());
}

TEST(Numbers, OrderIsThatOfTheValuesWithoutGaps) {
  for (const Dtype& dtype : all_dtypes()) {
    if (!dtype.is_floating() || dtype.bytes > 2) continue;
    std::vector<std::pair<double, std::int64_t>> all;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << (8 * dtype.bytes); ++bits) {
      const double value = decode_float(dtype, bits);
      EXPECT_EQ(is_nan(dtype, bits), std::isnan(value));
      EXPECT_EQ(is_infinity(dtype, bits), std::isinf(value));
      if (!std::isnan(value)) all.emplace_back(value, ordered(dtype, bits));
    }
    std::sort(all.begin(), all.end());
    for (std::size_t i = 1; i < all.size(); ++i) {
      const bool same = all[i].first == all[i - 1].first;  // the zeros
      EXPECT_EQ(all[i].second - all[i - 1].second, same ? 0 : 1)
          << dtype.name << " " << all[i].first;
    }
  }
}

TEST(Numbers, MinusZeroIsNoDistanceAway) {
  EXPECT_EQ(ulp_distance(*find_dtype("float32"), 0x80000000u, 0), 0u);
  EXPECT_EQ(ulp_distance(*find_dtype("float32"), 0x80000001u, 1), 2u);
  EXPECT_EQ(ulp_distance(*find_dtype("float64"), 0xfff0000000000000u, 0x7ff0000000000000u),
            0xffe0000000000000u);
}

TEST(Numbers, UlpIsTheDistanceToTheNextNumber) {
  for (const Dtype& dtype : all_dtypes()) {
    if (!dtype.is_floating() || dtype.bytes > 2) continue;
    const int width = dtype.exponent_bits + dtype.mantissa_bits;
    double greatest = 0;
    for (std::uint64_t bits = 0; bits + 1 < std::uint64_t{1} << width; ++bits) {
      const double here = decode_float(dtype, bits), next = decode_float(dtype, bits + 1);
      greatest = here;
      if (!std::isfinite(next)) break;
      EXPECT_EQ(ulp_at(dtype, here), next - here) << dtype.name << " " << bits;
      EXPECT_EQ(ulp_at(dtype, -here), next - here);
      greatest = next;
    }
    EXPECT_EQ(greatest_exponent(dtype), std::ilogb(greatest)) << dtype.name;
    const std::uint64_t normal = dtype.mantissa_bits == 0 ? 0 : 1u << dtype.mantissa_bits;
    EXPECT_EQ(smallest_exponent(dtype), std::ilogb(decode_float(dtype, normal))) << dtype.name;
  }
  EXPECT_EQ(greatest_exponent(*find_dtype("float32")), 127);
  EXPECT_EQ(smallest_exponent(*find_dtype("float32")), -126);
  EXPECT_EQ(unit_roundoff(*find_dtype("float32")), 0x1p-24);
}

TEST(Numbers, SameElementsHaveTheSameBitsButForNanPayloads) {
  const auto same = [](std::string_view dtype, std::uint64_t a, std::uint64_t b) {
    const fixtures::Tensor x = fixtures::zeros(dtype, {1}), y = fixtures::zeros(dtype, {1});
    fixtures::set_bits(x, x.view.dtype->is_complex() ? 1 : 0, a);
    fixtures::set_bits(y, y.view.dtype->is_complex() ? 1 : 0, b);
    return same_element(*x.view.dtype, x.bytes->data(), y.bytes->data());
  };
  EXPECT_TRUE(same("float16", 0x7e00, 0xfc01));
  EXPECT_TRUE(same("complex64", 0x7fc00000, 0xffc00001));
  EXPECT_FALSE(same("complex64", 0, 0x80000000));
  EXPECT_FALSE(same("float16", 0, 0x8000));
  EXPECT_FALSE(same("int16", 0x7e00, 0xfc01));
}

TEST(Numbers, EveryNarrowElementIsShownExactly) {
  for (const Dtype& dtype : all_dtypes()) {
    if (!dtype.is_floating() || dtype.bytes > 2) continue;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << (8 * dtype.bytes); ++bits) {
      if (is_nan(dtype, bits) || is_infinity(dtype, bits)) continue;
      EXPECT_EQ(encode_float(dtype, std::stod(shown(dtype.name, bits))), bits) << dtype.name;
    }
  }
}

TEST(Numbers, ElementsAreShownAsPeopleWriteThem) {
  EXPECT_EQ(shown("float32", 0x3e124000), "0.14282227");
  EXPECT_EQ(shown("float32", 0x80000000), "-0.0");
  EXPECT_EQ(shown("float16", 0x3c00), "1.0");
  EXPECT_EQ(shown("float16", 0x2e66), "0.1");
  EXPECT_EQ(shown("float32", 0x7fc00001), "nan");
  EXPECT_EQ(shown("float32", 0xff800000), "-inf");
  EXPECT_EQ(shown("int8", 0xff), "-1");
  EXPECT_EQ(shown("uint64", ~std::uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(shown("int64", ~std::uint64_t{0}), "-1");
  EXPECT_EQ(shown("bool", 1), "True");
  EXPECT_EQ(shown("bool", 2), "True (byte 0x02)");
  EXPECT_EQ(shown("qint8", 0x80), "-128");
  EXPECT_EQ(shown("bits16", 0xbeef), "0xbeef");
  const Tensor z = tensor("complex64", {1.5, -2});
  EXPECT_EQ(format_element(*z.view.dtype, z.bytes->data()), "(1.5-2.0j)");
  EXPECT_EQ(format_bits(*z.view.dtype, z.bytes->data()), "0x3fc00000, 0xc0000000");
}

}  // namespace
}  // namespace lockstep
