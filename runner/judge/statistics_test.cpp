#include "judge/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "judge/oracle.h"

namespace lockstep {
namespace {

using fixtures::Tensor;
using fixtures::zeros;

/// How many times as long the long tests run: LOCKSTEP_JUDGE_EFFORT=100 makes a night of it.
int effort() {
  const char* text = std::getenv("LOCKSTEP_JUDGE_EFFORT");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

void expect_same(const PairNumbers& fast, const PairNumbers& plain, const std::string& where) {
  EXPECT_EQ(fast.payload_differing, plain.payload_differing) << where;
  EXPECT_EQ(fast.differing, plain.differing) << where;
  EXPECT_EQ(fast.unequal, plain.unequal) << where;
  EXPECT_EQ(fast.nonfinite, plain.nonfinite) << where;
  EXPECT_EQ(fast.not_close, plain.not_close) << where;
  EXPECT_EQ(fast.max_abs, plain.max_abs) << where;
  EXPECT_EQ(fast.max_rel, plain.max_rel) << where;
  EXPECT_EQ(fast.max_ulp, plain.max_ulp) << where;
  EXPECT_EQ(fast.max_abs_at, plain.max_abs_at) << where;
  EXPECT_EQ(fast.max_ulp_at, plain.max_ulp_at) << where;
  EXPECT_EQ(fast.first_payload, plain.first_payload) << where;
  EXPECT_EQ(fast.first_differing, plain.first_differing) << where;
  EXPECT_EQ(fast.first_nonfinite, plain.first_nonfinite) << where;
  EXPECT_EQ(fast.first_not_close, plain.first_not_close) << where;
  EXPECT_EQ(fast.all_zero, plain.all_zero) << where;
  EXPECT_EQ(fast.all_nan, plain.all_nan) << where;
}

PairNumbers fast(const Tensor& e, const Tensor& c, const Tolerance& tolerance,
                 const PassOptions& options) {
  const std::array views = {&e.view, &c.view};
  return compare_pair(JointWalk(views), *e.view.dtype, tolerance, options);
}

TEST(Statistics, AgreeWithThePlainOracleOnEveryDtypeAndLevel) {
  constexpr std::array tolerances = {Tolerance{0, 0}, Tolerance{1e-3, 1e-5},
                                     Tolerance{1.6e-2, 1e-5}, Tolerance{1.3e-6, 1e-5},
                                     Tolerance{1e-7, 1e-7}};
  oracle::PairGenerator generate(8);
  std::int64_t pairs = 0;
  for (int round = 0; round < 300 * effort(); ++round) {
    for (const Dtype& dtype : all_dtypes()) {
      const auto count =
          static_cast<std::int64_t>(generate() % 4 == 0 ? generate() % 3000 : generate() % 40);
      const Tensor e = zeros(dtype.name, {count});
      const Tensor c = zeros(dtype.name, {count});
      for (std::int64_t i = 0; i < count; ++i) {
        generate.fill(dtype, e.bytes->data() + i * dtype.bytes, c.bytes->data() + i * dtype.bytes);
      }
      const Tolerance tolerance = tolerances[generate() % tolerances.size()];
      const PairNumbers plain =
          oracle::compare(dtype, e.bytes->data(), c.bytes->data(), count, tolerance);
      for (const VectorLevel level : vector_levels()) {
        expect_same(fast(e, c, tolerance, {1, level}), plain,
                    std::string(dtype.name) + " level " + std::to_string(static_cast<int>(level)));
      }
      pairs += count;
      if (HasFailure()) return;
    }
  }
  RecordProperty("pairs", std::to_string(pairs));
}

// Where all numbers are tame and few ulp apart, the pass leaves out what the ulp already tell.
TEST(Statistics, AgreeWithThePlainOracleWhereMeasuringIsSkipped) {
  oracle::PairGenerator generate(11);
  for (int round = 0; round < 40 * effort(); ++round) {
    for (const std::string_view name :
         {"float16", "bfloat16", "float32", "float64", "int64", "int32"}) {
      const Dtype& dtype = *find_dtype(name);
      const std::int64_t count = 5000;
      const Tensor e = zeros(name, {count});
      const Tensor c = zeros(name, {count});
      const std::uint64_t furthest = 1 + (generate() % 2 == 0 ? 0 : generate() % 12);
      const int scale = static_cast<int>(generate() % 3) * 7 -
                        14;  // some rounds reach into the subnormals of float16
      for (std::int64_t i = 0; i < count; ++i) {
        const double value =
            (static_cast<double>(generate() >> 11) * 0x1p-51 - 2) * std::ldexp(1.0, scale);
        const std::uint64_t bits =
            fixtures::encode(dtype, dtype.is_floating() ? value : value * 1e6);
        fixtures::set_bits(e, i, bits);
        fixtures::set_bits(c, i, bits + generate() % (furthest + 1));
      }
      const Tolerance tolerance =
          generate() % 2 == 0 ? Tolerance{1.3e-6, 1e-5} : Tolerance{1e-3, 1e-5};
      const PairNumbers plain =
          oracle::compare(dtype, e.bytes->data(), c.bytes->data(), count, tolerance);
      for (const VectorLevel level : vector_levels()) {
        expect_same(fast(e, c, tolerance, {1, level}), plain, std::string(name));
      }
      if (HasFailure()) return;
    }
  }
}

TEST(Statistics, NeverMissOneFlippedBit) {
  oracle::PairGenerator generate(9);
  for (const Dtype& dtype : all_dtypes()) {
    const std::int64_t count = 1500;
    const Tensor e = zeros(dtype.name, {count});
    for (std::byte& byte : *e.bytes) byte = static_cast<std::byte>(generate());
    const Tensor c = zeros(dtype.name, {count});
    *c.bytes = *e.bytes;
    for (int trial = 0; trial < 400 * effort(); ++trial) {
      const auto byte = static_cast<std::size_t>(generate() % c.bytes->size());
      const auto bit = static_cast<std::byte>(1u << generate() % 8);
      (*c.bytes)[byte] ^= bit;
      const PairNumbers numbers = fast(e, c, {}, {});
      EXPECT_EQ(numbers.payload_differing, 1) << dtype.name << " byte " << byte;
      EXPECT_EQ(numbers.first_payload, static_cast<std::int64_t>(byte) / dtype.bytes);
      (*c.bytes)[byte] ^= bit;
    }
    EXPECT_EQ(fast(e, c, {}, {}).payload_differing, 0);
  }
}

TEST(Statistics, DoNotDependOnThreads) {
  oracle::PairGenerator generate(10);
  const Dtype& dtype = *find_dtype("float32");
  const std::int64_t count = 1'000'003;
  const Tensor e = zeros(dtype.name, {count});
  const Tensor c = zeros(dtype.name, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    generate.fill(dtype, e.bytes->data() + i * 4, c.bytes->data() + i * 4);
  }
  const PairNumbers plain =
      oracle::compare(dtype, e.bytes->data(), c.bytes->data(), count, {1e-3, 0});
  for (const int threads : {1, 2, 3})
    expect_same(fast(e, c, {1e-3, 0}, {threads, {}}), plain, "threads");
}

TEST(Statistics, CountAnExpandedDimensionWithoutVisitingIt) {
  Tensor e = fixtures::tensor("float32", {1, 2, 3});
  Tensor c = fixtures::tensor("float32", {1, 2, 4});
  for (Tensor* tensor : {&e, &c}) {
    tensor->view.shape = {std::int64_t{1} << 40, 3};
    tensor->view.strides = {0, 1};
  }
  const PairNumbers numbers = fast(e, c, {}, {});
  EXPECT_EQ(numbers.differing, std::int64_t{1} << 40);
}

}  // namespace
}  // namespace lockstep
