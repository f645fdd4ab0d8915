#include "judge/numerics/statistics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "judge/numerics/oracle.h"

namespace lockstep {
namespace {

using fixtures::encode;
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
  EXPECT_EQ(fast.classes, plain.classes) << where;
  EXPECT_EQ(fast.ulps, plain.ulps) << where;
}

PairNumbers fast(const Tensor& e, const Tensor& c, const Tolerance& tolerance,
                 const PassOptions& options) {
  const std::array views = {&e.view, &c.view};
  return compare_pair(TensorWalk(views), *e.view.dtype, tolerance, options);
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
    for (const std::string_view name : {"float16", "bfloat16", "float32", "float64", "complex64",
                                        "complex128", "int64", "int32"}) {
      const Dtype& dtype = *find_dtype(name);
      const Dtype& number = number_dtype(dtype);
      const std::int64_t count = 5000;
      const Tensor e = zeros(name, {count});
      const Tensor c = zeros(name, {count});
      const std::uint64_t furthest = 1 + (generate() % 2 == 0 ? 0 : generate() % 12);
      const int scale = static_cast<int>(generate() % 3) * 7 -
                        14;  // some rounds reach into the subnormals of float16
      for (std::int64_t i = 0; i < count * dtype.bytes / number.bytes; ++i) {
        const double value =
            (static_cast<double>(generate() >> 11) * 0x1p-51 - 2) * std::ldexp(1.0, scale);
        const std::uint64_t bits =
            fixtures::encode(number, number.is_floating() ? value : value * 1e6);
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

// Where all so far is one ulp apart, bits that are as near to each other are not always numbers
// that are.
TEST(Statistics, AgreeWithThePlainOracleOnBitsThatAreNear) {
  const std::int64_t count = TensorWalk::kBlock + 64;
  for (const std::string_view name : {"complex64", "complex128", "float32", "float64"}) {
    const Dtype& dtype = *find_dtype(name);
    const Dtype& number = number_dtype(dtype);
    const std::int64_t parts = dtype.bytes / number.bytes;
    const std::uint64_t sign = std::uint64_t{1} << (8 * number.bytes - 1);
    const std::uint64_t ones = sign - 1 + sign, one = encode(number, 1);
    const std::uint64_t normal = std::uint64_t{1} << number.mantissa_bits;
    const std::uint64_t infinity = encode(number, HUGE_VAL);
    for (const std::uint64_t bits :
         {std::uint64_t{0}, std::uint64_t{1}, normal - 1, normal, one, infinity - 1, infinity,
          infinity + 1, sign - 1, sign, sign + 1, sign + normal, sign + infinity, ones}) {
      for (const std::uint64_t step :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, sign}) {
        for (const bool back : {false, true}) {
          const Tensor e = zeros(name, {count});
          const Tensor c = zeros(name, {count});
          for (std::int64_t i = 0; i < parts * count; ++i) {
            fixtures::set_bits(e, i, one);
            fixtures::set_bits(c, i, one + (i % 7 == 0));
          }
          const std::int64_t there =
              parts * (TensorWalk::kBlock + static_cast<std::int64_t>(bits % 16));
          const std::int64_t part = there + (parts > 1 && back);
          fixtures::set_bits(e, part, bits);
          fixtures::set_bits(c, part, (back ? bits - step : bits + step) & ones);
          constexpr Tolerance tolerance{1.3e-6, 1e-5};
          const PairNumbers plain =
              oracle::compare(dtype, e.bytes->data(), c.bytes->data(), count, tolerance);
          for (const VectorLevel level : vector_levels())
            expect_same(fast(e, c, tolerance, {1, level}), plain,
                        fmt::format("{} {:x} {} {:x}", name, bits, back ? "less" : "and", step));
        }
      }
    }
  }
}

// Squares are less exact than errors: those that they cannot tell apart are measured.
TEST(Statistics, AgreeWithThePlainOracleOnErrorsThatAreNearlyEqual) {
  const std::int64_t count = 300;
  constexpr Tolerance all_close{10, 10};
  for (const std::string_view name : {"complex64", "complex128"}) {
    const Dtype& dtype = *find_dtype(name);
    const Dtype& number = number_dtype(dtype);
    for (int power = 0; power < number.mantissa_bits; ++power) {
      const Tensor e = zeros(name, {count});
      const Tensor c = zeros(name, {count});
      for (std::int64_t i = 0; i < 2 * count; ++i) {
        const std::uint64_t bits = fixtures::encode(number, i % 6 == 0 ? 2.5 : 1);
        fixtures::set_bits(e, i, bits);
        fixtures::set_bits(c, i,
                           bits + (std::uint64_t{1} << power) + static_cast<std::uint64_t>(i) / 32);
      }
      const PairNumbers plain =
          oracle::compare(dtype, e.bytes->data(), c.bytes->data(), count, all_close);
      for (const VectorLevel level : vector_levels())
        expect_same(fast(e, c, all_close, {1, level}), plain, std::string(name));
    }
  }
}

/// Blocks of elements that lie anywhere, compared at every level.
void expect_same_anywhere(const Dtype& dtype, const std::vector<std::byte>& e,
                          const std::vector<std::byte>& c, std::size_t e_at, std::size_t c_at,
                          const Tolerance& tolerance) {
  const std::size_t count = e.size() / static_cast<std::size_t>(dtype.bytes);
  const PairNumbers plain =
      oracle::compare(dtype, e.data(), c.data(), static_cast<std::int64_t>(count), tolerance);
  std::vector<std::byte> eager(e_at + e.size() + 64), compiled(c_at + c.size() + 64);
  const auto place = [](std::vector<std::byte>& room, std::size_t at, const auto& bytes) {
    const auto past = reinterpret_cast<std::uintptr_t>(room.data()) % 64;
    std::byte* start = room.data() + (64 + at - past) % 64;
    std::copy(bytes.begin(), bytes.end(), start);
    return start;
  };
  const std::byte* eager_at = place(eager, e_at, e);
  const std::byte* compiled_at = place(compiled, c_at, c);
  for (const VectorLevel level : vector_levels()) {
    PairNumbers numbers;
    pair_kernel(dtype, level)(dtype, eager_at, compiled_at, count, 0, tolerance, numbers);
    expect_same(numbers, plain,
                fmt::format("{} {} at {} and {}, level {}", count, dtype.name, e_at, c_at,
                            static_cast<int>(level)));
  }
}

// Tails of every width, wherever the elements lie: specials, and numbers that are tame.
TEST(Statistics, AgreeWithThePlainOracleAtEveryLengthAndAlignment) {
  oracle::PairGenerator generate(17);
  const auto compare = [&](const Dtype& dtype, std::size_t count, std::size_t e_at,
                           std::size_t c_at) {
    const Dtype& number = number_dtype(dtype);
    const auto bytes = static_cast<std::size_t>(dtype.bytes);
    const auto step = static_cast<std::size_t>(number.bytes);
    std::vector<std::byte> e(count * bytes), c(count * bytes);
    for (std::size_t i = 0; i < count; ++i) generate.fill(dtype, &e[i * bytes], &c[i * bytes]);
    expect_same_anywhere(dtype, e, c, e_at, c_at, {1e-3, 1e-5});
    for (std::size_t at = 0; at < e.size(); at += step) {
      const std::uint64_t bits =
          encode(number, static_cast<double>(generate() >> 11) * 0x1p-51 + 9);
      const std::uint64_t other = bits + (generate() % 4 == 0);
      std::memcpy(&e[at], &bits, step);
      std::memcpy(&c[at], &other, step);
    }
    expect_same_anywhere(dtype, e, c, e_at, c_at, {1.3e-6, 1e-5});
  };
  for (const Dtype& dtype : all_dtypes()) {
    for (std::size_t count = 0; count <= 130; ++count)
      compare(dtype, count, count * 7 % 64, count * 13 % 64);
    for (std::size_t at = 0; at < 64; ++at) compare(dtype, 67, at, (at * 5 + 3) % 64);
    if (HasFailure()) return;
  }
}

// Every pattern of the narrow dtypes, and tails of every width.
TEST(Decoders, AgreeWithDecodeFloatAtEveryLevel) {
  oracle::PairGenerator generate(19);
  for (const Dtype& dtype : all_dtypes()) {
    if (!dtype.is_floating() || dtype.bytes == 1) continue;
    const auto bytes = static_cast<std::size_t>(dtype.bytes);
    for (const std::size_t count : {1, 2, 3, 7, 9, 17, 130, 1 << 16}) {
      std::vector<std::byte> block(count * bytes);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t bits = bytes == 2 ? i : generate() << (generate() % 2 == 0 ? 0 : 40);
        std::memcpy(&block[i * bytes], &bits, bytes);
      }
      for (const VectorLevel level : vector_levels()) {
        std::vector<double> numbers(count + 1, 3);
        decoder(dtype, level)(block.data(), count, numbers.data());
        EXPECT_EQ(numbers.back(), 3) << dtype.name << " of " << count;
        for (std::size_t i = 0; i < count; ++i) {
          const double plain = decode_float(dtype, load_bits(&block[i * bytes], dtype.bytes));
          const bool same = std::isnan(plain) ? std::isnan(numbers[i])
                                              : std::bit_cast<std::uint64_t>(plain) ==
                                                    std::bit_cast<std::uint64_t>(numbers[i]);
          ASSERT_TRUE(same) << dtype.name << " " << i << ": " << numbers[i] << ", not " << plain;
        }
      }
    }
  }
}

TEST(Statistics, FindTheFirstDifferenceBehindPayloadsOfNan) {
  for (const std::string_view name : {"float16", "bfloat16", "float32", "float64", "float8_e5m2"}) {
    const Dtype& dtype = *find_dtype(name);
    const std::int64_t last = 3 * TensorWalk::kBlock;
    const Tensor e = zeros(name, {last + 1}), c = zeros(name, {last + 1});
    const std::uint64_t nan = encode_float(dtype, NAN);
    const auto bytes = static_cast<std::size_t>(dtype.bytes);
    std::memcpy(e.bytes->data() + bytes, &nan, bytes);
    const std::uint64_t payload = nan ^ 1;
    std::memcpy(c.bytes->data() + bytes, &payload, bytes);
    const std::uint64_t minus_zero = std::uint64_t{1} << (dtype.bytes * 8 - 1);
    std::memcpy(c.bytes->data() + static_cast<std::size_t>(last) * bytes, &minus_zero, bytes);
    const PairNumbers numbers = fast(e, c, {}, {});
    EXPECT_EQ(numbers.first_payload, 1) << name;
    EXPECT_EQ(numbers.first_differing, last) << name;
    EXPECT_EQ(numbers.differing, 1) << name;
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

// Under `bits`, whatever the layout: first and last byte, tails of every vector width, strided,
// permuted and expanded views, at every level.
TEST(Statistics, NeverMissAFlippedBitInAnyLayout) {
  oracle::PairGenerator generate(13);
  const auto random_bytes = [&](const Tensor& tensor) {
    for (std::byte& byte : *tensor.bytes) byte = static_cast<std::byte>(generate());
  };
  for (const Dtype& dtype : all_dtypes()) {
    const Dtype& number = number_dtype(dtype);
    for (const std::int64_t count : {1,  2,  3,  5,   7,   8,   9,   15,  16,  17,  31,   33,
                                     63, 64, 65, 127, 129, 255, 257, 511, 512, 513, 1023, 1025}) {
      // What is compared is every `step`th element from `offset` on; what lies between is noise.
      const auto step = static_cast<std::int64_t>(1 + generate() % 3);
      const auto offset = static_cast<std::int64_t>(generate() % 3);
      Tensor e = zeros(dtype.name, {count});
      Tensor c = zeros(dtype.name, {offset + count * step});
      random_bytes(e);
      random_bytes(c);
      for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(c.bytes->data() + (offset + i * step) * dtype.bytes,
                    e.bytes->data() + i * dtype.bytes, static_cast<std::size_t>(dtype.bytes));
      }
      c.view.shape = {count};
      c.view.strides = {step};
      c.view.offset = offset;
      if (count % 3 == 0) {  // the same elements, transposed
        e.view.shape = c.view.shape = {count / 3, 3};
        e.view.strides = {3, 1};
        c.view.strides = {3 * step, step};
        std::swap(e.view.shape[0], e.view.shape[1]);
        std::swap(e.view.strides[0], e.view.strides[1]);
        std::swap(c.view.shape[0], c.view.shape[1]);
        std::swap(c.view.strides[0], c.view.strides[1]);
      }
      const std::int64_t total = count * dtype.bytes;
      for (const std::int64_t byte :
           {std::int64_t{0}, total - 1, static_cast<std::int64_t>(generate()) % total}) {
        if (byte < 0) continue;
        const std::int64_t element = byte / dtype.bytes;
        std::byte& hit = (*c.bytes)[static_cast<std::size_t>(
            (offset + element * step) * dtype.bytes + byte % dtype.bytes)];
        const auto flip = static_cast<std::byte>(1u << generate() % 8);
        hit ^= flip;
        const auto* before = e.bytes->data() + element * dtype.bytes;
        const auto part =
            static_cast<std::size_t>(byte % dtype.bytes / number.bytes * number.bytes);
        const std::byte* after = &hit - byte % dtype.bytes;
        // A NaN that stays one is the one difference that `bits` allows.
        const bool both_nan = number.is_floating() &&
                              is_nan(number, load_bits(before + part, number.bytes)) &&
                              is_nan(number, load_bits(after + part, number.bytes));
        for (const VectorLevel level : vector_levels()) {
          const PairNumbers numbers = fast(e, c, {}, {1, level});
          EXPECT_EQ(numbers.payload_differing, 1) << dtype.name << " of " << count;
          EXPECT_EQ(numbers.differing, both_nan ? 0 : 1) << dtype.name << " of " << count;
        }
        hit ^= flip;
      }
      EXPECT_EQ(fast(e, c, {}, {}).payload_differing, 0);
      if (HasFailure()) return;
    }
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
