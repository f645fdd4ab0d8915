#include "cases/fresh.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/dtype.h"
#include "cases/fill.h"

namespace lockstep {
namespace {

TensorSpec literal_tensor(const char* dtype, std::vector<ElementBits> elements) {
  TensorSpec spec;
  spec.dtype = find_dtype(dtype);
  spec.shape = {static_cast<std::int64_t>(elements.size())};
  spec.strides = {1};
  spec.storage_elements = spec.shape.front();
  spec.fill = LiteralFill{std::move(elements)};
  return spec;
}

Case case_with(TensorSpec spec) {
  Case declared;
  declared.calls = {{{{"x", std::move(spec)}}}};
  return declared;
}

const TensorSpec& drawn_input(const Case& declared) {
  return std::get<TensorSpec>(declared.calls.front().inputs.front().value);
}

std::vector<float> drawn_floats(const Case& declared) {
  const auto bytes = storage_bytes(drawn_input(declared), "x");
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

ElementBits float_bits(float value) {
  ElementBits bits;
  std::memcpy(&bits.low, &value, sizeof value);
  return bits;
}

TEST(Fresh, RealElementsAreScaledAndKeepTheirSigns) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Case declared = case_with(literal_tensor(
      "float32", {float_bits(2), float_bits(-4), float_bits(0), float_bits(infinity)}));
  const auto one = fresh_case(declared, 1), other = fresh_case(declared, 2);
  ASSERT_TRUE(one && other);
  const std::vector<float> values = drawn_floats(*one);
  EXPECT_GE(values[0], 1);
  EXPECT_LT(values[0], 2);
  EXPECT_EQ(values[1], -2 * values[0]);
  EXPECT_EQ(values[2], 0);
  EXPECT_EQ(values[3], infinity);
  EXPECT_NE(values, drawn_floats(*other));
  EXPECT_EQ(values, drawn_floats(*fresh_case(declared, 1))) << "one seed, one draw";
}

TEST(Fresh, DrawnElementsAreDrawnAgain) {
  TensorSpec spec = literal_tensor("int64", {{}, {}, {}, {}});
  RuleFill fill;
  fill.rule = find_fill_rule("integers");
  ASSERT_NE(fill.rule, nullptr);
  for (const RuleParameter& each : fill.rule->parameters)
    fill.parameters.emplace_back(each.name, each.name == "high" ? 1000 : 0);
  spec.fill = fill;
  const Case declared = case_with(spec);
  const auto drawn = fresh_case(declared, 1);
  ASSERT_TRUE(drawn);
  EXPECT_NE(storage_bytes(drawn_input(*drawn), "x"), storage_bytes(drawn_input(declared), "x"));
}

TEST(Fresh, WhatMayBeAnIndexStays) {
  EXPECT_FALSE(fresh_case(case_with(literal_tensor("int64", {{1, 0}, {2, 0}})), 1));
  EXPECT_FALSE(fresh_case(case_with(literal_tensor("bool", {{1, 0}, {0, 0}})), 1));
  Case random = case_with(literal_tensor("int64", {{1, 0}}));
  random.random = true;
  random.seed = 3;
  const auto drawn = fresh_case(random, 1);
  ASSERT_TRUE(drawn);
  EXPECT_NE(drawn->seed, 3U);
}

TEST(Fresh, PartsOfComplexNumbersAreScaledAlike) {
  ElementBits element =
      complex_element(*find_dtype("float32"), float_bits(2).low, float_bits(-8).low);
  const std::vector<float> parts =
      drawn_floats(*fresh_case(case_with(literal_tensor("complex64", {element})), 9));
  EXPECT_EQ(parts[1], -4 * parts[0]);
}

}  // namespace
}  // namespace lockstep
