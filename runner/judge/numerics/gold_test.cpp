#include "judge/numerics/gold.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "judge/numerics/close.h"
#include "judge/numerics/kernels.h"
#include "judge/numerics/numbers.h"
#include "judge/numerics/oracle.h"

namespace lockstep {
namespace {

using fixtures::Tensor;
using fixtures::zeros;

/// Golds of the same numbers, plainly: eight sums in the order of the numbers.
GoldNumbers plain_gold(const Tensor& e, const Tensor& c, const Tensor& g, std::int64_t count) {
  GoldNumbers out;
  const auto* eager = reinterpret_cast<const double*>(e.bytes->data());
  const auto* compiled = reinterpret_cast<const double*>(c.bytes->data());
  const auto* gold = reinterpret_cast<const double*>(g.bytes->data());
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(eager[i]) || !std::isfinite(compiled[i])) continue;
    const double error = std::fabs(eager[i] - gold[i]);
    const double of_compiled = std::fabs(compiled[i] - gold[i]);
    ++out.numbers;
    out.eager_max = std::max(out.eager_max, error);
    if (of_compiled > out.compiled_max) {
      out.compiled_max = of_compiled;
      out.compiled_max_at = i;
    }
    out.gold_max = std::max(out.gold_max, std::fabs(gold[i]));
    out.eager_square[static_cast<std::size_t>(i % 8)] += error * error;
    out.compiled_square[static_cast<std::size_t>(i % 8)] += of_compiled * of_compiled;
    out.beyond_steps += of_compiled > error;
    if (of_compiled > error && out.beyond_steps_at < 0) out.beyond_steps_at = i;
    const double gross = std::max({std::fabs(gold[i]) / 8, close_tolerance(*e.view.dtype).atol,
                                   ulp_at(*e.view.dtype, gold[i])});
    out.eager_gross += error > gross;
    out.compiled_gross += of_compiled > gross;
  }
  return out;
}

void expect_same_gold(const GoldNumbers& fast, const GoldNumbers& plain, const std::string& of) {
  EXPECT_EQ(fast.numbers, plain.numbers) << of;
  EXPECT_EQ(fast.eager_max, plain.eager_max) << of;
  EXPECT_EQ(fast.compiled_max, plain.compiled_max) << of;
  EXPECT_EQ(fast.compiled_max_at, plain.compiled_max_at) << of;
  EXPECT_EQ(fast.gold_max, plain.gold_max) << of;
  EXPECT_EQ(fast.eager_square, plain.eager_square) << of;
  EXPECT_EQ(fast.compiled_square, plain.compiled_square) << of;
  EXPECT_EQ(fast.beyond_steps, plain.beyond_steps) << of;
  EXPECT_EQ(fast.beyond_steps_at, plain.beyond_steps_at) << of;
  EXPECT_EQ(fast.eager_gross, plain.eager_gross) << of;
  EXPECT_EQ(fast.compiled_gross, plain.compiled_gross) << of;
}

// Where a block has a NaN the numbers between are added run by run.
TEST(Golds, AgreeWithPlainOnesAtEveryLevelAndLength) {
  oracle::PairGenerator generate(29);
  const auto number = [&] { return static_cast<double>(generate() >> 11) * 0x1p-51 - 2; };
  for (int round = 0; round < 200; ++round) {
    const auto rows = static_cast<std::int64_t>(1 + generate() % 5);
    const auto row = static_cast<std::int64_t>(generate() % 8 == 0 ? 1 + generate() % 3000
                                                                   : 1 + generate() % 40);
    const std::int64_t count = rows * row, apart = round % 2 == 0 ? 0 : 3;
    const Tensor e = zeros("float64", {count}), c = zeros("float64", {count});
    const Tensor g = zeros("float64", {count});
    Tensor spread = zeros("float64", {rows * (row + apart)});
    for (std::int64_t i = 0; i < count; ++i) {
      const double gold = number();
      const double eager = generate() % 97 == 0 ? NAN : gold + number() * 0x1p-3;
      const double compiled = generate() % 97 == 0 ? HUGE_VAL : gold + number() * 0x1p-3;
      const auto at = static_cast<std::size_t>(i) * 8;
      std::memcpy(g.bytes->data() + at, &gold, 8);
      std::memcpy(e.bytes->data() + at, &eager, 8);
      std::memcpy(c.bytes->data() + at, &compiled, 8);
      std::memcpy(spread.bytes->data() + (i / row * (row + apart) + i % row) * 8, &compiled, 8);
    }
    const GoldNumbers plain = plain_gold(e, c, g, count);
    Tensor eager = fixtures::reshaped(e, {rows, row}), gold = fixtures::reshaped(g, {rows, row});
    spread.view.shape = {rows, row};
    spread.view.strides = {row + apart, 1};
    const std::array views = {&eager.view, &spread.view, &gold.view};
    for (const VectorLevel level : vector_levels()) {
      const GoldNumbers fast = compare_with_gold(TensorWalk(views), *find_dtype("float64"),
                                                 *find_dtype("float64"), 0, {1, level});
      expect_same_gold(fast, plain,
                       fmt::format("{} of {}, level {}", rows, row, static_cast<int>(level)));
    }
    if (HasFailure()) return;
  }
}

// Wherever a block begins, each number is in the sum of its index.
TEST(Golds, KernelsAddBlocksThatBeginAnywhere) {
  oracle::PairGenerator generate(31);
  for (std::size_t first = 0; first < 9; ++first) {
    for (std::size_t count = 0; count < 40; ++count) {
      std::array<double, 40> e{}, c{}, g{}, eager_error{}, compiled_error{};
      GoldSums plain;
      for (std::size_t i = 0; i < count; ++i) {
        e[i] = static_cast<double>(generate() % 1000);
        c[i] = static_cast<double>(generate() % 1000);
        plain.eager_square[(first + i) % 8] += e[i] * e[i];
        plain.compiled_square[(first + i) % 8] += c[i] * c[i];
      }
      for (const VectorLevel level : vector_levels()) {
        GoldSums sums;
        EXPECT_TRUE(gold_kernel(level)(
            {e.data(), c.data(), g.data(), count, first, eager_error.data(), compiled_error.data()},
            sums));
        EXPECT_EQ(sums.eager_square, plain.eager_square) << first << " and " << count;
        EXPECT_EQ(sums.compiled_square, plain.compiled_square) << first << " and " << count;
        EXPECT_EQ(eager_error, e);
        EXPECT_EQ(compiled_error, c);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
