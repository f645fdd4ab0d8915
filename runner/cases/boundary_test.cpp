#include "cases/boundary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace lockstep {
namespace {

std::set<std::uint64_t> patterns(const char* dtype) {
  std::set<std::uint64_t> found;
  for (const ElementBits& bits : boundary_values(*find_dtype(dtype))) found.insert(bits.low);
  return found;
}

TEST(Boundary, HasEachValueOnceAndAsManyAsPairsAllow) {
  for (const Dtype& dtype : all_dtypes()) {
    if (dtype.kind == NumberKind::opaque) continue;
    const std::vector<ElementBits> values = boundary_values(dtype);
    std::set<std::pair<std::uint64_t, std::uint64_t>> once;
    for (const ElementBits& bits : values) {
      EXPECT_TRUE(once.insert({bits.low, bits.high}).second) << dtype.name << " " << bits.low;
      EXPECT_TRUE(dtype.bytes >= 8 || bits.low >> (8 * dtype.bytes) == 0) << dtype.name;
    }
    EXPECT_LE(values.size(), 128U) << dtype.name;
    if (dtype.is_floating() && dtype.bytes >= 2) {
      EXPECT_GE(values.size(), 64U) << dtype.name;
    }
  }
}

TEST(Boundary, FloatsHaveTheirEdges) {
  const std::set<std::uint64_t> half = patterns("float16");
  for (const std::uint64_t bits : {0x0000, 0x8000, 0x0001, 0x8001, 0x0002, 0x03ff, 0x0400, 0x0401,
                                   0x3bff, 0x3c00, 0x3c01, 0x3800, 0x4000, 0x4200, 0x4248, 0x3e00,
                                   0x4100, 0x7bfe, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00})
    EXPECT_TRUE(half.contains(bits)) << std::hex << bits;
  EXPECT_TRUE(patterns("float32").contains(0x7f7fffff));
  EXPECT_TRUE(patterns("float64").contains(0x7ff0000000000000));
}

TEST(Boundary, EveryFloat8HasItsLimitsAndOneNan) {
  const std::pair<const char*, double> greatest[] = {{"float8_e5m2", 57344},
                                                     {"float8_e4m3fn", 448},
                                                     {"float8_e5m2fnuz", 57344},
                                                     {"float8_e4m3fnuz", 240},
                                                     {"float8_e8m0fnu", 0x1p127}};
  for (const auto& [name, limit] : greatest) {
    const Dtype& dtype = *find_dtype(name);
    double most = 0;
    int nans = 0;
    for (const ElementBits& bits : boundary_values(dtype)) {
      const double value = decode_float(dtype, bits.low);
      nans += std::isnan(value) ? 1 : 0;
      if (std::isfinite(value)) most = std::max(most, value);
    }
    EXPECT_EQ(most, limit) << name;
    EXPECT_EQ(nans, 1) << name;
  }
}

TEST(Boundary, IntegersHaveLimitsPowersAndShiftCounts) {
  const std::set<std::uint64_t> bytes = patterns("int8"), words = patterns("int64");
  for (const std::uint64_t bits :
       {0x00, 0x01, 0xff, 0x02, 0xfe, 0x07, 0x08, 0x09, 0x7f, 0x7e, 0x80, 0x81, 0x40, 0x3f})
    EXPECT_TRUE(bytes.contains(bits)) << std::hex << bits;
  for (const std::uint64_t bits :
       {std::uint64_t{63}, std::uint64_t{64}, std::uint64_t{65}, std::uint64_t{1} << 63,
        (std::uint64_t{1} << 63) - 1, (std::uint64_t{1} << 63) + 1, ~std::uint64_t{0},
        (std::uint64_t{1} << 31) + 1, (std::uint64_t{1} << 53) + 1})
    EXPECT_TRUE(words.contains(bits)) << std::hex << bits;
}

}  // namespace
}  // namespace lockstep
