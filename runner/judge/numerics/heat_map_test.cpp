#include "judge/numerics/heat_map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "judge/numerics/oracle.h"
#include "judge/numerics/statistics.h"

namespace lockstep {
namespace {

using namespace fixtures;

TEST(HeatMap, ShowsWhereTheDifferencesLie) {
  const Tensor e = reshaped(tensor("float32", {1, 2, 3, NAN, 5, 6}), {2, 3});
  const Tensor c = reshaped(tensor("float32", {1, 2.5, 3, NAN, 5, INFINITY}), {2, 3});
  EXPECT_EQ(heat_map(e, c), (HeatMap{2, 3, {0, 1, 0, 0, 0, 1}, {0, 0.5, 0, 0, 0, INFINITY}}));
  EXPECT_EQ(heat_map(tensor("float32", {0, 1}), tensor("float32", {-0.0, 1})),
            (HeatMap{1, 2, {1, 0}, {0, 0}}));
  EXPECT_EQ(heat_map(tensor("int64", {1}), tensor("int64", {2})), std::nullopt);
  EXPECT_EQ(heat_map(tensor("int64", {}), tensor("int64", {})), std::nullopt);
}

TEST(HeatMap, ReadsViewsByIndex) {
  const Tensor e = reshaped(tensor("float32", {1, 2, 3, 4}), {2, 2});
  Tensor c = reshaped(tensor("float32", {1, 3, 9, 4}), {2, 2});
  c.view.strides = {1, 2};
  EXPECT_EQ(heat_map(e, c), (HeatMap{2, 2, {0, 1, 0, 0}, {0, 7, 0, 0}}));
  Tensor expanded = tensor("complex64", {3, 4});
  expanded.view.shape = {40, 40};
  expanded.view.strides = {0, 0};
  Tensor flipped = tensor("complex64", {3, -4});
  flipped.view.shape = expanded.view.shape;
  flipped.view.strides = {0, 0};
  const auto heat = heat_map(expanded, flipped);
  ASSERT_TRUE(heat);
  EXPECT_EQ(heat->rows * heat->columns, 256);
  for (const double greatest : heat->greatest) EXPECT_EQ(greatest, 8);
  flipped.view.conj = true;
  EXPECT_EQ(heat_map(expanded, flipped)->differing, std::vector<std::int64_t>(256));
  expanded.view.shape = flipped.view.shape = {std::int64_t{1} << 40, 2};
  EXPECT_EQ(heat_map(expanded, flipped), std::nullopt);
}

// The cells of a map add up to what the pass counts, whatever the shape and dtype.
TEST(HeatMap, AddsUpToThePass) {
  oracle::PairGenerator generate(21);
  for (int round = 0; round < 400; ++round) {
    const Dtype& dtype = all_dtypes()[generate() % all_dtypes().size()];
    std::vector<std::int64_t> shape(1 + generate() % 3);
    for (std::int64_t& size : shape) size = 1 + static_cast<std::int64_t>(generate() % 40);
    const Tensor e = zeros(dtype.name, shape);
    const Tensor c = zeros(dtype.name, shape);
    for (std::int64_t i = 0; i < e.view.elements(); ++i) {
      generate.fill(dtype, e.bytes->data() + i * dtype.bytes, c.bytes->data() + i * dtype.bytes);
    }
    const auto heat = heat_map(e, c);
    if (e.view.elements() < 2) continue;
    ASSERT_TRUE(heat);
    std::int64_t total = 0;
    for (const std::int64_t count : heat->differing) total += count;
    const std::array views = {&e.view, &c.view};
    EXPECT_EQ(total, compare_pair(TensorWalk(views), dtype, {}).differing) << dtype.name;
  }
}

}  // namespace
}  // namespace lockstep
