#include "cases/stratified.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace lockstep {
namespace {

const RandomStream kStream(1, "x");

TEST(Stratified, WalksThroughEverySignAndExponent) {
  const Dtype& dtype = *find_dtype("float32");
  std::map<std::uint64_t, std::set<std::uint64_t>> mantissas;  // by sign and exponent
  for (std::uint64_t k = 0; k < 512 * 12; ++k) {
    const std::uint64_t bits = stratified_element(dtype, kStream, k).low;
    mantissas[bits >> 23].insert(bits & 0x7fffff);
  }
  ASSERT_EQ(mantissas.size(), 512U);
  for (const auto& [pair, found] : mantissas) {
    for (const std::uint64_t boundary :
         {0x0, 0x1, 0x7fffff, 0x7ffffe, 0x400000, 0x3fffff, 0x400001})
      ASSERT_TRUE(found.contains(boundary)) << pair;
    ASSERT_GE(found.size(), 9U);
  }
}

TEST(Stratified, HalfOfTheOtherMantissasEndAtTies) {
  const Dtype& dtype = *find_dtype("float32");
  int zeros = 0;
  const int count = 20'000;
  for (int k = 0; k < count; ++k) {
    const std::uint64_t bits =
        stratified_element(dtype, kStream, 512 * 8 + static_cast<std::uint64_t>(k)).low;
    zeros += (bits & 0xfff) == 0x800 ? 1 : 0;  // a tie where the lower 12 bits are cut off
  }
  // Of uniform mantissas 1 in 4096 would be.
  EXPECT_GT(zeros, count / 1000);
  EXPECT_LT(zeros, count / 100);
}

TEST(Stratified, HasEveryPatternOfAFloat8) {
  for (const char* name :
       {"float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu"}) {
    std::set<std::uint64_t> patterns;
    for (std::uint64_t k = 0; k < 256 * 8; ++k)
      patterns.insert(stratified_element(*find_dtype(name), kStream, k).low);
    EXPECT_EQ(patterns.size(), 256U) << name;
    EXPECT_LT(*patterns.rbegin(), 256U) << name;
  }
}

TEST(Stratified, IntegersBeginWithLimitsAndHaveEveryLength) {
  const Dtype& dtype = *find_dtype("int32");
  std::set<std::uint64_t> first;
  for (std::uint64_t k = 0; k < 8; ++k) first.insert(stratified_element(dtype, kStream, k).low);
  EXPECT_TRUE(first.contains(0x80000000) && first.contains(0x7fffffff) && first.contains(0));
  std::set<int> lengths;
  int negative = 0;
  for (std::uint64_t k = 8; k < 4008; ++k) {
    const auto value = static_cast<std::int32_t>(stratified_element(dtype, kStream, k).low);
    const std::int64_t magnitude = value < 0 ? -std::int64_t{value} : value;
    int length = 0;
    while ((magnitude >> length) != 0) ++length;
    lengths.insert(length);
    negative += value < 0 ? 1 : 0;
  }
  EXPECT_EQ(lengths.size(), 33U);
  EXPECT_NEAR(negative, 2000, 200);
}

TEST(Stratified, BooleansAlternate) {
  for (std::uint64_t k = 0; k < 4; ++k)
    EXPECT_EQ(stratified_element(*find_dtype("bool"), kStream, k).low, k % 2);
}

TEST(Stratified, PartsOfComplexNumbersAreIndependent) {
  std::set<std::uint64_t> imaginary;  // signs and exponents that go with one real part's
  for (std::uint64_t turn = 0; turn < 64; ++turn) {
    const std::uint64_t bits =
        stratified_element(*find_dtype("complex64"), kStream, 7 + 512 * turn).low;
    EXPECT_EQ((bits & 0xffffffff) >> 23 & 0xff, 3U);
    imaginary.insert(bits >> 55);
  }
  EXPECT_GT(imaginary.size(), 50U);
}

}  // namespace
}  // namespace lockstep
