#include "judge/metadata.h"

#include <gtest/gtest.h>

#include "judge/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;

std::string difference(const TensorView& e, const TensorView& c,
                       StrideRule rule = StrideRule::significant) {
  return metadata_difference(e, c, rule);
}

TEST(Metadata, EverySaboteurIsNamed) {
  const Tensor e = reshaped(tensor("float32", {1, 2, 3, 4, 5, 6}), {2, 3});
  const auto sabotaged = [&](auto change) {
    TensorView view = e.view;
    change(view);
    return difference(e, view);
  };
  EXPECT_EQ(sabotaged([](TensorView&) {}), "");
  EXPECT_EQ(sabotaged([](TensorView& v) { v.dtype = find_dtype("int32"); }),
            "dtype float32, compiled int32");
  EXPECT_EQ(sabotaged([](TensorView& v) { v.shape = {3, 2}; }), "shape [2, 3], compiled [3, 2]");
  EXPECT_EQ(sabotaged([](TensorView& v) { v.device = "cuda:0"; }), "device cpu, compiled cuda:0");
  EXPECT_EQ(sabotaged([](TensorView& v) { v.layout = "mkldnn"; }),
            "layout strided, compiled mkldnn");
  EXPECT_EQ(sabotaged([](TensorView& v) { v.requires_grad = true; }),
            "requires_grad false, compiled true");
  EXPECT_EQ(sabotaged([](TensorView& v) {
              v.strides = {1, 2};
            }),
            "strides [3, 1], compiled [1, 2]");
  EXPECT_EQ(sabotaged([](TensorView& v) {
              v.quantizer = Quantizer{"per_tensor_affine", {0.5}, {3}, 0};
            }),
            "quantizer none, compiled per_tensor_affine, scale [0.5], zero point [3]");
  // Values are compared resolved, and an offset matters only where memory is shared.
  EXPECT_EQ(sabotaged([](TensorView& v) { v.conj = v.neg = true; }), "");
  EXPECT_EQ(sabotaged([](TensorView& v) { v.offset = 1; }), "");
}

TEST(Metadata, EveryDifferenceIsNamed) {
  const TensorView e = zeros("float32", {2, 3}).view;
  TensorView c = e;
  c.requires_grad = true;
  c.strides = {1, 2};
  EXPECT_EQ(difference(e, c),
            "requires_grad false, compiled true; strides [3, 1], compiled [1, 2]");
  c.dtype = find_dtype("float64");
  c.shape = {3, 2};
  EXPECT_EQ(difference(e, c),
            "dtype float32, compiled float64; shape [2, 3], compiled [3, 2]; requires_grad false, "
            "compiled true");
}

TEST(Metadata, EagerOfAnotherDeviceStandsForThatOfThePath) {
  const TensorView e = zeros("float32", {2, 3}).view;
  TensorView c = e;
  c.device = "cuda:0";
  const CrossDevice on_cpu{"cpu", "cuda:0"};
  EXPECT_EQ(metadata_difference(e, c, StrideRule::significant, on_cpu), "");
  EXPECT_EQ(metadata_difference(e, e, StrideRule::significant, on_cpu), "");
  c.device = "cuda:1";
  EXPECT_EQ(metadata_difference(e, c, StrideRule::significant, on_cpu),
            "device cpu, compiled cuda:1");
  EXPECT_EQ(metadata_difference(c, e, StrideRule::significant, on_cpu),
            "device cuda:1, compiled cpu");
}

TEST(Metadata, ValuesAreComparableWhereTheyMeanTheSame) {
  const TensorView e = zeros("float32", {2, 3}).view;
  const auto comparable = [&](auto change) {
    TensorView c = e;
    change(c);
    return are_comparable(e, c);
  };
  EXPECT_TRUE(comparable([](TensorView& v) { v.strides = {1, 2}; }));
  EXPECT_TRUE(comparable([](TensorView& v) { v.requires_grad = true; }));
  EXPECT_TRUE(comparable([](TensorView& v) { v.device = "cuda:0"; }));
  EXPECT_FALSE(comparable([](TensorView& v) { v.dtype = find_dtype("int32"); }));
  EXPECT_FALSE(comparable([](TensorView& v) { v.shape = {3, 2}; }));
  EXPECT_FALSE(comparable([](TensorView& v) { v.layout = "mkldnn"; }));
  EXPECT_FALSE(comparable([](TensorView& v) {
    v.quantizer = Quantizer{"per_tensor_affine", {0.5}, {3}, 0};
  }));
  EXPECT_TRUE(are_comparable(ScalarValue(1.0), ScalarValue(2.0)));
  EXPECT_FALSE(are_comparable(ScalarValue(1.0), ScalarValue(true)));
  EXPECT_FALSE(are_comparable(ScalarValue(1.0), e));
}

TEST(Metadata, OnlySignificantStridesCount) {
  TensorView e = zeros("float32", {1, 3}).view;
  TensorView c = e;
  c.strides = {77, 1};
  EXPECT_EQ(difference(e, c), "");
  EXPECT_NE(difference(e, c, StrideRule::exact), "");
  e.shape = c.shape = {0, 3};
  c.strides = {5, 7};
  EXPECT_EQ(difference(e, c), "");
  e.shape = c.shape = {2, 3};
  EXPECT_NE(difference(e, c), "");
  EXPECT_EQ(difference(e, c, StrideRule::ignore), "");
}

TEST(Metadata, AliasGraph) {
  const Tensor x = zeros("float32", {4}), y = zeros("float32", {4});
  TensorView half = x.view;
  half.shape = {2};
  TensorView other_half = half;
  other_half.offset = 2;
  const auto call = [](const TensorView& out, const TensorView& second, const TensorView& in) {
    return CallResult{{{"a", out}, {"b", second}}, {{"x", in}}, {}};
  };
  EXPECT_EQ(alias_difference(call(half, y, x), call(half, y, x)), "");
  EXPECT_EQ(alias_difference(call(half, y, x), call(y, x, x)),
            "a shares memory with input x, compiled does not (and 1 more)");
  EXPECT_EQ(alias_difference(call(half, y, x), call(half, half, x)),
            "b does not share memory with input x, compiled does (and 1 more)");
  EXPECT_EQ(alias_difference(call(half, y, x), call(other_half, y, x)),
            "a shares memory with input x at storage offset 0, compiled at 2");
  // Storage numbers mean nothing by themselves.
  Tensor renamed_x = x;
  renamed_x.view.storage = 1;
  TensorView renamed_half = half;
  renamed_half.storage = 1;
  EXPECT_EQ(alias_difference(call(half, y, x), call(renamed_half, y, renamed_x)), "");
  const Tensor nothing = zeros("float32", {0});
  EXPECT_EQ(alias_difference(call(nothing, nothing, x), call(nothing, zeros("float32", {0}), x)),
            "");
}

}  // namespace
}  // namespace lockstep
