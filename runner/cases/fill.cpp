#include "cases/fill.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "cases/boundary.h"
#include "cases/random_stream.h"
#include "cases/stratified.h"

namespace lockstep {
namespace {

void store(std::byte* to, const Dtype& dtype, const ElementBits& bits) {
  std::memcpy(to, &bits.low, static_cast<std::size_t>(std::min(dtype.bytes, 8)));
  if (dtype.bytes == 16) std::memcpy(to + 8, &bits.high, 8);
}

/// One real number for place k; `draw` tells the parts of a complex number apart.
double rule_number(const RuleFill& fill, const RandomStream& stream, std::uint64_t k,
                   std::uint32_t draw) {
  const auto parameter = [&](std::string_view name) { return fill.parameter(name); };
  const auto between = [&](double low, double high) {
    return low + (high - low) * stream.uniform(k, draw);
  };
  if (fill.rule == "constant") return draw == 0 ? parameter("value") : 0;
  if (fill.rule == "arange") {
    return draw == 0 ? (parameter("start") + static_cast<double>(k) * parameter("step")) /
                           parameter("divide")
                     : 0;
  }
  if (fill.rule == "uniform") return between(parameter("low"), parameter("high"));
  if (fill.rule == "normal") return parameter("mean") + parameter("std") * stream.normal(k, draw);
  if (fill.rule == "integers") {
    const double low = parameter("low");
    return low + static_cast<double>(
                     stream.below(static_cast<std::uint64_t>(parameter("high") - low), k, draw));
  }
  if (fill.rule == "small_integers") {
    const double magnitude = parameter("magnitude");
    return static_cast<double>(
               stream.below(static_cast<std::uint64_t>(2 * magnitude + 1), k, draw)) -
           magnitude;
  }
  if (fill.rule == "powers_of_two") {
    const double least = parameter("least");
    const auto span = static_cast<std::uint64_t>(parameter("greatest") - least + 1);
    const double power = least + static_cast<double>(stream.below(span, k, draw));
    return std::ldexp((stream.word(k, draw + 2) & 1) != 0 ? -1.0 : 1.0, static_cast<int>(power));
  }
  const double bound = fill.rule == "kaiming"
                           ? std::sqrt(1 / parameter("fan_in"))
                           : std::sqrt(6 / (parameter("fan_in") + parameter("fan_out")));
  return between(-bound, bound);
}

ElementBits rule_element(const Dtype& dtype, const RuleFill& fill, const RandomStream& stream,
                         std::uint64_t k) {
  const double real = rule_number(fill, stream, k, 0);
  if (!dtype.is_complex()) return encode_number(dtype, real);
  const Dtype& part = *find_dtype(dtype.part);
  return complex_element(part, encode_number(part, real).low,
                         encode_number(part, rule_number(fill, stream, k, 1)).low);
}

/// Fisher and Yates, from the last place down.
std::vector<std::uint64_t> permutation(std::uint64_t size, const RandomStream& stream) {
  std::vector<std::uint64_t> order(size);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  for (std::uint64_t k = size; k > 1; --k) std::swap(order[k - 1], order[stream.below(k, k)]);
  return order;
}

}  // namespace

const std::vector<RuleInfo>& fill_rules() {
  static const std::vector<RuleInfo> rules = {
      {"constant", {{"value", 0}}, false, "value"},
      {"arange",
       {{"start", 0}, {"step", 1}, {"divide", 1}},
       false,
       "(start + k * step) / divide, rounded once"},
      {"uniform", {{"low", 0}, {"high", 1}}, true, "uniform in [low, high)"},
      {"normal", {{"mean", 0}, {"std", 1}}, true, "normal, cut at 6 standard deviations"},
      {"integers", {{"low", 0}, {"high", 10}}, true, "an integer in [low, high)"},
      {"small_integers",
       {{"magnitude", 4}},
       true,
       "an integer in [-magnitude, magnitude]: sums and products stay exact in any order"},
      {"powers_of_two", {{"least", -4}, {"greatest", 4}}, true, "+-2^e: products stay exact"},
      {"permutation", {}, true, "the numbers 0 to n - 1 in random order"},
      {"special", {}, false, "the boundary values of the dtype, over and over"},
      {"grid",
       {{"place", 0}},
       false,
       "boundary value (k / V^place) mod V of the V that the dtype has"},
      {"stratified",
       {},
       true,
       "every sign and exponent in turn, with mantissas at boundaries, ties and random ones"},
      {"all_bits", {}, false, "the bit pattern k, over and over; dtypes of at most 16 bits"},
      {"kaiming",
       {{"fan_in", 0, true}},
       true,
       "uniform in +-sqrt(1 / fan_in), as torch initialises linear and convolution weights"},
      {"xavier",
       {{"fan_in", 0, true}, {"fan_out", 0, true}},
       true,
       "uniform in +-sqrt(6 / (fan_in + fan_out))"},
  };
  return rules;
}

ElementBits complex_element(const Dtype& part, std::uint64_t real, std::uint64_t imaginary) {
  if (part.bytes == 8) return {real, imaginary};
  return {real | (imaginary << (8 * part.bytes)), 0};
}

ElementBits encode_number(const Dtype& dtype, double value) {
  if (dtype.kind == NumberKind::boolean) return {value != 0 ? 1U : 0U, 0};
  if (dtype.is_floating()) return {encode_float(dtype, value), 0};
  if (dtype.is_complex()) return encode_number(*find_dtype(dtype.part), value);
  // Through the widest integer that holds the value, so that no conversion is undefined.
  if (!(std::fabs(value) < 0x1p64)) return {};
  const std::uint64_t magnitude = static_cast<std::uint64_t>(std::fabs(value));
  return {value < 0 ? ~magnitude + 1 : magnitude, 0};
}

std::vector<std::byte> storage_bytes(const TensorSpec& spec, std::string_view stream_name) {
  const Dtype& dtype = *spec.dtype;
  const auto count = static_cast<std::uint64_t>(spec.storage_elements);
  std::vector<std::byte> bytes(count * static_cast<std::uint64_t>(dtype.bytes));
  const auto place = [&](std::uint64_t k) {
    return bytes.data() + k * static_cast<std::uint64_t>(dtype.bytes);
  };
  if (const auto* literal = std::get_if<LiteralFill>(&spec.fill)) {
    for (std::uint64_t k = 0; k < count && k < literal->elements.size(); ++k)
      store(place(k), dtype, literal->elements[k]);
    return bytes;
  }
  const auto& rule = std::get<RuleFill>(spec.fill);
  const RandomStream stream(rule.seed, stream_name);
  if (rule.rule == "stratified") {
    for (std::uint64_t k = 0; k < count; ++k)
      store(place(k), dtype, stratified_element(dtype, stream, k));
  } else if (rule.rule == "grid") {
    const std::vector<ElementBits> values = boundary_values(dtype);
    std::uint64_t run = 1;  // how long one value stays
    for (double i = rule.parameter("place"); i > 0; --i) run *= values.size();
    for (std::uint64_t k = 0; k < count; ++k)
      store(place(k), dtype, values[k / run % values.size()]);
  } else if (rule.rule == "special") {
    const std::vector<ElementBits> values = special_values(dtype);
    for (std::uint64_t k = 0; k < count; ++k) store(place(k), dtype, values[k % values.size()]);
  } else if (rule.rule == "all_bits") {
    for (std::uint64_t k = 0; k < count; ++k) store(place(k), dtype, {k, 0});
  } else if (rule.rule == "permutation") {
    const std::vector<std::uint64_t> order = permutation(count, stream);
    for (std::uint64_t k = 0; k < count; ++k)
      store(place(k), dtype, encode_number(dtype, static_cast<double>(order[k])));
  } else {
    for (std::uint64_t k = 0; k < count; ++k)
      store(place(k), dtype, rule_element(dtype, rule, stream, k));
  }
  return bytes;
}

}  // namespace lockstep
