#include "judge/numerics/classes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "judge/numerics/compare.h"
#include "judge/numerics/oracle.h"

namespace lockstep {
namespace {

using namespace fixtures;

DifferenceClasses classes_of(const Tensor& e, const Tensor& c) {
  const std::array views = {&e.view, &c.view};
  return difference_classes(compare_pair(TensorWalk(views), *e.view.dtype, {}));
}

std::int64_t sum(const DifferenceClasses& classes) {
  return classes.nan + classes.infinity + classes.zero_sign + classes.subnormal +
         classes.last_bits + classes.value;
}

/// The same, told by the oracle.
DifferenceClasses plain_classes(const Tensor& e, const Tensor& c) {
  const PairNumbers plain =
      oracle::compare(*e.view.dtype, e.bytes->data(), c.bytes->data(), e.view.elements(), {});
  const auto& [eager_nan, compiled_nan, eager_infinity, compiled_infinity, infinity_sign, zero_sign,
               subnormal, last_bits, value] = plain.classes;
  DifferenceClasses classes;
  classes.eager_nan = eager_nan;
  classes.nan = eager_nan + compiled_nan;
  classes.eager_infinity = eager_infinity;
  classes.compiled_infinity = compiled_infinity;
  classes.infinity = eager_infinity + compiled_infinity + infinity_sign;
  classes.zero_sign = zero_sign;
  classes.subnormal = subnormal;
  classes.last_bits = last_bits;
  classes.value = value;
  return classes;
}

TEST(Classes, AgreeWithThePlainOracleOnEveryFloatingDtype) {
  oracle::PairGenerator generate(21);
  for (const Dtype& dtype : all_dtypes()) {
    if (!number_dtype(dtype).is_floating()) continue;
    for (int round = 0; round < 20; ++round) {
      const std::int64_t count = 3000;
      const Tensor e = zeros(dtype.name, {count});
      const Tensor c = zeros(dtype.name, {count});
      for (std::int64_t i = 0; i < count; ++i)
        generate.fill(dtype, e.bytes->data() + i * dtype.bytes, c.bytes->data() + i * dtype.bytes);
      const DifferenceClasses fast = classes_of(e, c), plain = plain_classes(e, c);
      ASSERT_EQ(fast, plain) << dtype.name << ": " << describe(fast) << " against "
                             << describe(plain);
      ASSERT_EQ(sum(fast),
                oracle::compare(dtype, e.bytes->data(), c.bytes->data(), count, {}).differing);
    }
  }
}

// Every pattern of the narrow dtypes beside its neighbour, its opposite and a NaN.
TEST(Classes, AgreeWithThePlainOracleOnEveryPattern) {
  for (const Dtype& dtype : all_dtypes()) {
    if (!dtype.is_floating() || dtype.bytes > 2) continue;
    const auto count = std::int64_t{1} << (8 * dtype.bytes);
    const auto all = static_cast<std::uint64_t>(count) - 1;
    const std::uint64_t sign = static_cast<std::uint64_t>(count) / 2;
    for (const auto& sabotage : std::vector<std::function<std::uint64_t(std::uint64_t)>>{
             [&](std::uint64_t bits) { return (bits + 1) & all; },
             [&](std::uint64_t bits) { return (bits - 5) & all; },
             [&](std::uint64_t bits) { return bits ^ sign; },
             [&](std::uint64_t) { return encode_float(dtype, NAN); },
             [&](std::uint64_t) { return encode_float(dtype, INFINITY); },
             [&](std::uint64_t) { return std::uint64_t{0}; }}) {
      const Tensor e = zeros(dtype.name, {count});
      const Tensor c = zeros(dtype.name, {count});
      for (std::int64_t i = 0; i < count; ++i) {
        set_bits(e, i, static_cast<std::uint64_t>(i));
        set_bits(c, i, sabotage(static_cast<std::uint64_t>(i)));
      }
      ASSERT_EQ(classes_of(e, c), plain_classes(e, c)) << dtype.name;
    }
  }
}

TEST(Classes, EachSabotageLandsInItsClass) {
  const std::vector<double> good = {NAN, INFINITY, 0.0, 0x1p-20, 1.0, 1.0};
  const Tensor e = tensor("float16", good);
  const auto sabotaged = [&](std::size_t at, double value) {
    std::vector<double> bad = good;
    bad[at] = value;
    return classes_of(e, tensor("float16", bad));
  };
  EXPECT_EQ(sabotaged(0, 3.0), (DifferenceClasses{.nan = 1, .eager_nan = 1}));
  EXPECT_EQ(sabotaged(1, -INFINITY), (DifferenceClasses{.infinity = 1}));
  EXPECT_EQ(sabotaged(1, 65504.0), (DifferenceClasses{.infinity = 1, .eager_infinity = 1}));
  EXPECT_EQ(sabotaged(4, INFINITY), (DifferenceClasses{.infinity = 1, .compiled_infinity = 1}));
  EXPECT_EQ(sabotaged(1, NAN), (DifferenceClasses{.nan = 1}));
  EXPECT_EQ(sabotaged(2, -0.0), (DifferenceClasses{.zero_sign = 1}));
  EXPECT_EQ(sabotaged(3, 0.0), (DifferenceClasses{.subnormal = 1}));
  EXPECT_EQ(sabotaged(3, 1.0), (DifferenceClasses{.value = 1}));
  EXPECT_EQ(sabotaged(4, 1 + 0x1p-10), (DifferenceClasses{.last_bits = 1}));
  EXPECT_EQ(sabotaged(5, 1 + 0x5p-10), (DifferenceClasses{.value = 1}));
  EXPECT_EQ(sabotaged(0, NAN), DifferenceClasses{});
}

TEST(Classes, AComplexElementCountsOnceByItsWorstPart) {
  const Tensor e = tensor("complex64", {1, NAN, 0, 1, 2, 2});
  const Tensor c = tensor("complex64", {5, 1, -0.0, 2, 2, 2});
  EXPECT_EQ(classes_of(e, c), (DifferenceClasses{.nan = 1, .zero_sign = 1, .eager_nan = 1}));
}

TEST(Classes, OfIntegersAndExpandedViews) {
  const Tensor e = tensor("int32", {1, 2, 3}), c = tensor("int32", {1, 0, 0});
  Subject integers;
  integers.eager = &e.view;
  integers.compiled = &c.view;
  OutputComparison output;
  Comparison(integers).add_numbers(output);
  EXPECT_EQ(output.classes, (DifferenceClasses{.value = 2}));
  Tensor x = tensor("float32", {1}), y = tensor("float32", {NAN});
  for (Tensor* each : {&x, &y}) {
    each->view.shape = {7};
    each->view.strides = {0};
  }
  EXPECT_EQ(classes_of(x, y), (DifferenceClasses{.nan = 7}));
}

TEST(Classes, AreDescribedInTheirOrder) {
  EXPECT_EQ(describe(DifferenceClasses{}), "");
  EXPECT_EQ(describe(DifferenceClasses{12, 0, 1, 0, 1040, 2}),
            "12 NaN, 1 sign of zero, 1,040 last bits, 2 value");
}

TEST(Classes, AMillionElementsAreCounted) {
  const std::int64_t count = 1 << 20;
  const Tensor e = zeros("float32", {count});
  const Tensor c = zeros("float32", {count});
  for (std::int64_t i = 0; i < count; ++i) {
    set_bits(e, i, static_cast<std::uint64_t>(i) * 4096);
    set_bits(c, i, static_cast<std::uint64_t>(i) * 4096 + 1);
  }
  EXPECT_EQ(sum(classes_of(e, c)), count - 2 * 2047);  // a NaN equals a NaN
}

std::vector<std::int64_t> histogram_of(const Tensor& e, const Tensor& c) {
  const std::array views = {&e.view, &c.view};
  return ulp_histogram(compare_pair(TensorWalk(views), *e.view.dtype, {}));
}

TEST(UlpHistogram, CountsByPowersOfTwo) {
  const Tensor e = zeros("float32", {12}), c = zeros("float32", {12});
  const std::uint64_t apart[] = {0, 1, 1, 2, 3, 4, 5, 8, 9, 0x80000000, 0x7f800000, 0x7fc00000};
  for (std::int64_t i = 0; i < 12; ++i) set_bits(c, i, apart[i]);  // the last three say nothing
  EXPECT_EQ(histogram_of(e, c), (std::vector<std::int64_t>{2, 1, 2, 2, 1}));
  EXPECT_EQ(histogram_of(e, e), std::vector<std::int64_t>());
  EXPECT_EQ(histogram_of(tensor("complex64", {1, 0}), tensor("complex64", {1, 0x1p-149})),
            std::vector<std::int64_t>{1});
  // From the least number to the greatest.
  const Tensor low = zeros("float64", {1}), high = zeros("float64", {1});
  set_bits(low, 0, 0xffefffffffffffff);
  set_bits(high, 0, 0x7fefffffffffffff);
  EXPECT_EQ(histogram_of(low, high).size(), 65u);
}

// Nothing is counted twice or lost: what is finite and not the same number, of every dtype.
TEST(UlpHistogram, AddsUp) {
  oracle::PairGenerator generate(33);
  for (const Dtype& dtype : all_dtypes()) {
    if (!number_dtype(dtype).is_floating()) continue;
    const std::int64_t count = 3000;
    const Tensor e = zeros(dtype.name, {count}), c = zeros(dtype.name, {count});
    for (std::int64_t i = 0; i < count; ++i)
      generate.fill(dtype, e.bytes->data() + i * dtype.bytes, c.bytes->data() + i * dtype.bytes);
    std::vector<std::int64_t> expected(65);
    const Dtype& number = number_dtype(dtype);
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint64_t worst = 0;
      for (int part = 0; part < dtype.bytes; part += number.bytes) {
        const std::int64_t at = i * dtype.bytes + part;
        const std::uint64_t a = load_bits(e.bytes->data() + at, number.bytes);
        const std::uint64_t b = load_bits(c.bytes->data() + at, number.bytes);
        const double x = decode_float(number, a), y = decode_float(number, b);
        if (std::isfinite(x) && std::isfinite(y))
          worst = std::max(worst, ulp_distance(number, a, b));
      }
      std::size_t bucket = 0;
      while (worst > 0 && (bucket < 64 && worst > std::uint64_t{1} << bucket)) ++bucket;
      if (worst > 0) ++expected[bucket];
    }
    while (!expected.empty() && expected.back() == 0) expected.pop_back();
    EXPECT_EQ(histogram_of(e, c), expected) << dtype.name;
  }
}

}  // namespace
}  // namespace lockstep
