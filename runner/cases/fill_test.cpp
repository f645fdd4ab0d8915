#include "cases/fill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "base/fixtures.h"
#include "cases/boundary.h"
#include "cases/random_stream.h"

namespace lockstep {
namespace {

/// A rule as a test writes it; without parameters with the fall-backs.
struct Written {
  std::string_view rule;
  std::uint64_t seed;
  std::vector<std::pair<std::string, double>> parameters;
};

TensorSpec spec(const char* dtype, std::int64_t elements, Written written) {
  TensorSpec result;
  result.dtype = find_dtype(dtype);
  result.shape = {elements};
  result.strides = {1};
  result.storage_elements = elements;
  RuleFill fill{find_fill_rule(written.rule), written.seed, std::move(written.parameters)};
  if (fill.parameters.empty()) {
    for (const RuleParameter& parameter : fill.rule->parameters)
      fill.parameters.emplace_back(parameter.name,
                                   parameter.from_shape != nullptr ? 9 : parameter.fallback);
  }
  result.fill = std::move(fill);
  return result;
}

std::uint64_t digest(const TensorSpec& tensor) {
  const std::vector<std::byte> bytes = storage_bytes(tensor, "x");
  return XXH3_64bits(bytes.data(), bytes.size());
}

template <class T>
std::vector<T> numbers(const TensorSpec& tensor) {
  const std::vector<std::byte> bytes = storage_bytes(tensor, "x");
  std::vector<T> result(bytes.size() / sizeof(T));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

// The known answers that come with Random123.
TEST(Fill, PhiloxGivesTheKnownAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Fill, NormalIsNearlyNormal) {
  const auto values = numbers<double>(spec("float64", 100'000, {"normal", 7, {}}));
  double sum = 0, squares = 0, fourth = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
    ASSERT_LE(std::fabs(value), 6);
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.015);
  EXPECT_NEAR(squares / 1e5, 1, 0.02);
  EXPECT_NEAR(fourth / 1e5, 2.9, 0.1);  // 3 - 0.1 for the sum of twelve uniform numbers
}

TEST(Fill, RandomFillsStayInTheirRange) {
  for (const float value :
       numbers<float>(spec("float32", 10'000, {"uniform", 1, {{"low", -2}, {"high", 3}}}))) {
    ASSERT_TRUE(value >= -2 && value <= 3);
  }
  std::vector<int> seen(7, 0);
  for (const auto value :
       numbers<std::int64_t>(spec("int64", 10'000, {"integers", 1, {{"low", -3}, {"high", 4}}}))) {
    ASSERT_TRUE(value >= -3 && value < 4);
    ++seen[static_cast<std::size_t>(value + 3)];
  }
  for (const int count : seen) EXPECT_GT(count, 1200);
  for (const float value : numbers<float>(spec("float32", 1000, {"powers_of_two", 1, {}}))) {
    int exponent = 0;
    ASSERT_EQ(std::fabs(std::frexp(value, &exponent)), 0.5);
  }
}

TEST(Fill, PermutationHasEveryNumberOnce) {
  auto values = numbers<std::int32_t>(spec("int32", 1000, {"permutation", 3, {}}));
  EXPECT_NE(values[0] + values[1] + values[2], 3);
  std::sort(values.begin(), values.end());
  for (int k = 0; k < 1000; ++k) ASSERT_EQ(values[static_cast<std::size_t>(k)], k);
}

TEST(Fill, PermutationOfBlocksHasEveryNumberOfABlockOnce) {
  const auto values = numbers<std::int32_t>(spec("int32", 22, {"permutation", 3, {{"block", 5}}}));
  std::set<std::vector<std::int32_t>> orders;
  for (std::size_t begin = 0; begin < 22; begin += 5) {
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(begin);
    std::vector<std::int32_t> block(from, from + std::min<std::ptrdiff_t>(5, values.end() - from));
    orders.insert(block);
    std::sort(block.begin(), block.end());
    for (std::size_t k = 0; k < block.size(); ++k)
      ASSERT_EQ(block[k], static_cast<std::int32_t>(k));
  }
  EXPECT_GT(orders.size(), 3U) << "each block has an order of its own";
}

TEST(Fill, MaskHasItsShare) {
  const auto values = numbers<std::uint8_t>(spec("bool", 10'000, {"mask", 3, {{"share", 0.2}}}));
  const auto count = std::count(values.begin(), values.end(), 1);
  EXPECT_NEAR(static_cast<double>(count), 2000, 200);
  EXPECT_EQ(std::count(values.begin(), values.end(), 0), 10'000 - count);
}

TEST(Fill, AllBitsHasEveryPatternOnce) {
  const auto values = numbers<std::uint16_t>(spec("bfloat16", 65536, {"all_bits", 0, {}}));
  for (std::size_t k = 0; k < values.size(); ++k) ASSERT_EQ(values[k], k);
}

TEST(Fill, ArangeIsRoundedOnce) {
  const auto values = numbers<float>(
      spec("float32", 20, {"arange", 0, {{"start", 0}, {"step", 1}, {"divide", 7}}}));
  for (std::size_t k = 0; k < values.size(); ++k)
    EXPECT_EQ(values[k], static_cast<float>(k) / 7.0F);
}

TEST(Fill, StreamsAndSeedsDiffer) {
  const TensorSpec one = spec("float32", 64, {"normal", 1, {}});
  EXPECT_NE(storage_bytes(one, "x"), storage_bytes(one, "y"));
  EXPECT_NE(storage_bytes(one, "x"), storage_bytes(spec("float32", 64, {"normal", 2, {}}), "x"));
  // An element does not depend on how many come after it.
  const auto more = storage_bytes(spec("float32", 128, {"normal", 1, {}}), "x");
  const auto less = storage_bytes(one, "x");
  EXPECT_EQ(std::memcmp(more.data(), less.data(), less.size()), 0);
}

TEST(Fill, SpecialValuesHaveTheBoundaries) {
  const auto has = [](const char* name, std::uint64_t pattern) {
    for (const ElementBits& bits : special_values(*find_dtype(name))) {
      if (bits.low == pattern) return true;
    }
    return false;
  };
  for (const std::uint64_t bits : {0x0000, 0x8000, 0x0001, 0x03ff, 0x0400, 0x3bff, 0x3c00, 0x3c01,
                                   0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00}) {
    EXPECT_TRUE(has("float16", bits)) << bits;
  }
  EXPECT_TRUE(has("float8_e4m3fn", 0x7e));  // 448, the greatest
  EXPECT_FALSE(has("float8_e4m3fnuz", 0x80) &&
               !std::isnan(decode_float(*find_dtype("float8_e4m3fnuz"), 0x80)));
  EXPECT_TRUE(has("int8", 0x80) && has("int8", 0x7f) && has("int8", 0xff));
}

TEST(Fill, TwoGridsHaveEveryPair) {
  const std::size_t count = boundary_values(*find_dtype("float16")).size();
  const auto fast = numbers<std::uint16_t>(spec("float16", 16384, {"grid", 0, {{"place", 0}}}));
  const auto slow = numbers<std::uint16_t>(spec("float16", 16384, {"grid", 0, {{"place", 1}}}));
  std::set<std::pair<std::uint16_t, std::uint16_t>> pairs;
  for (std::size_t k = 0; k < fast.size(); ++k) pairs.insert({fast[k], slow[k]});
  EXPECT_EQ(pairs.size(), count * count);
}

// The bytes of every rule, frozen: a change here changes what every case computes on.
TEST(Fill, BytesAreTheSameOnEveryMachine) {
  std::map<std::string, std::uint64_t> digests;
  for (const FillRule& rule : fill_rules()) {
    for (const char* dtype : {"float32", "bfloat16", "float64", "int32", "complex64", "bool"}) {
      if (rule.name == "all_bits" && find_dtype(dtype)->bytes > 2) continue;
      digests[std::string(rule.name) + " " + dtype] = digest(spec(dtype, 257, {rule.name, 42, {}}));
    }
  }
  const std::map<std::string, std::uint64_t> frozen = {
#include "cases/testdata/fill_digests.inc"
  };
  for (const auto& [name, value] : digests) {
    const auto found = frozen.find(name);
    EXPECT_TRUE(found != frozen.end() && found->second == value)
        << "{\"" << name << "\", 0x" << std::hex << value << "},";
  }
  EXPECT_EQ(frozen.size(), digests.size());
}

TEST(Fill, RulesThatDrawAreSeeded) {
  for (const FillRule& rule : fill_rules()) {
    const auto bytes = [&](std::uint64_t seed) {
      return storage_bytes(spec("float16", 4096, {rule.name, seed, {}}), "x");
    };
    EXPECT_EQ(bytes(1) != bytes(2), rule.seeded) << rule.name;
  }
}

TEST(Fill, OnlyWholeRulesDependOnHowManyThereAre) {
  for (const FillRule& rule : fill_rules()) {
    const char* dtype = rule.name == "all_bits" ? "bfloat16" : "float64";
    const auto more = storage_bytes(spec(dtype, 128, {rule.name, 1, {}}), "x");
    const auto less = storage_bytes(spec(dtype, 64, {rule.name, 1, {}}), "x");
    EXPECT_EQ(std::memcmp(more.data(), less.data(), less.size()) != 0, rule.whole) << rule.name;
  }
}

std::string fallback_text(const RuleParameter& parameter) {
  return parameter.from_shape != nullptr ? "from the shape" : fmt::format("{}", parameter.fallback);
}

TEST(Fill, TheReadmeHasTheTable) {
  std::vector<std::string> rows;
  for (const FillRule& rule : fill_rules()) {
    std::vector<std::string> parameters;
    for (const RuleParameter& parameter : rule.parameters)
      parameters.push_back(fmt::format("`{}` ({})", parameter.name, fallback_text(parameter)));
    std::string cell = fmt::format(" {}", fmt::join(parameters, ", "));
    if (rule.direct) cell += fmt::format("; `{{\"{}\": 0.5}}` is short", rule.name);
    rows.push_back(fmt::format("| `{}` |{} | {} |", rule.name, rule.parameters.empty() ? "" : cell,
                               rule.meaning));
  }
  expect_table("docs/cases/fills.md", "| fill | parameters (default) | elements |", rows);
}

/// What the schema has for one rule: `{"NAME": {…}, "seed": …}`, where without parameters there is
/// a seed, as the name alone says the same.
Json schema_of(const FillRule& rule) {
  const Json choice = {{"$ref", "#/$defs/choice"}};
  const Json number = {{"type", "number"}};
  Json properties = Json::object();
  for (const RuleParameter& parameter : rule.parameters) {
    std::string text = fmt::format("default {}", fallback_text(parameter));
    if (!parameter.bounds.empty()) text += fmt::format("; {}", parameter.bounds);
    properties[std::string(parameter.name)] = {{"description", text},
                                               {"anyOf", Json::array({choice, number})}};
  }
  Json body = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (rule.direct) {
    body = {{"description", rule.meaning}, {"anyOf", Json::array({choice, number, body})}};
  } else {
    Json described = {{"description", rule.meaning}};
    described.update(body);
    body = std::move(described);
  }
  const std::string name(rule.name);
  Json result = {{"type", "object"},
                 {"required", Json::array({name})},
                 {"additionalProperties", false},
                 {"minProperties", 1},
                 {"properties", {{name, body}}}};
  if (rule.seeded) result["properties"]["seed"] = {{"$ref", "#/$defs/seed"}};
  const Json given = {{"minProperties", 1}};
  result["anyOf"] = Json::array();
  result["anyOf"].push_back({{"properties", {{name, given}}}});
  result["anyOf"].push_back({{"required", Json::array({"seed"})}});
  return result;
}

TEST(Fill, TheSchemaHasEveryRule) {
  Json names = Json::array();
  Json choices = Json::array();
  choices.push_back({{"$ref", "#/$defs/choice"}});
  for (const FillRule& rule : fill_rules()) names.push_back(rule.name);
  choices.push_back({{"description", "A rule with its default parameters."}, {"enum", names}});
  for (const FillRule& rule : fill_rules()) choices.push_back(schema_of(rule));
  expect_json("cases/schema/case.schema.json", "/$defs/fill/anyOf", choices);
}

}  // namespace
}  // namespace lockstep
