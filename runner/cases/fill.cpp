#include "cases/fill.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/wide.h"

namespace lockstep {
namespace {

/// Random numbers by place: nothing depends on the order in which elements are made.
class Stream {
 public:
  Stream(std::uint64_t seed, std::string_view name)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        stream_(XXH32(name.data(), name.size(), 0)) {}

  std::array<std::uint32_t, 4> block(std::uint64_t place, std::uint32_t draw) const {
    return philox(
        {static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32), draw, stream_},
        key_);
  }
  std::uint64_t word(std::uint64_t place, std::uint32_t draw = 0) const {
    const auto words = block(place, draw);
    return (std::uint64_t{words[1]} << 32) | words[0];
  }
  /// In [0, 1), a multiple of 2^-53.
  double uniform(std::uint64_t place, std::uint32_t draw = 0) const {
    return static_cast<double>(word(place, draw) >> 11) * 0x1p-53;
  }
  /// Nearly standard normal, in [-6, 6]: the sum of twelve uniform numbers, less 6.  Every step is
  /// exact: no logarithm or cosine, which differ between C libraries, takes part.
  double normal(std::uint64_t place, std::uint32_t draw = 0) const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < 3; ++i) {
      for (const std::uint32_t word : block(place, draw * 3 + i)) sum += word;
    }
    return (static_cast<double>(sum) + 6) * 0x1p-32 - 6;
  }
  /// In [0, range).
  std::uint64_t below(std::uint64_t range, std::uint64_t place, std::uint32_t draw = 0) const {
    return static_cast<std::uint64_t>((static_cast<Wide>(word(place, draw)) * range) >> 64);
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t stream_;
};

void store(std::byte* to, const Dtype& dtype, const ElementBits& bits) {
  std::memcpy(to, &bits.low, static_cast<std::size_t>(std::min(dtype.bytes, 8)));
  if (dtype.bytes == 16) std::memcpy(to + 8, &bits.high, 8);
}

/// One real number for place k; `draw` tells the parts of a complex number apart.
double rule_number(const RuleFill& fill, const Stream& stream, std::uint64_t k,
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

ElementBits rule_element(const Dtype& dtype, const RuleFill& fill, const Stream& stream,
                         std::uint64_t k) {
  const double real = rule_number(fill, stream, k, 0);
  if (!dtype.is_complex()) return encode_number(dtype, real);
  const Dtype& part = *find_dtype(dtype.part);
  const std::uint64_t low = encode_number(part, real).low;
  const std::uint64_t high = encode_number(part, rule_number(fill, stream, k, 1)).low;
  if (part.bytes == 8) return {low, high};
  return {low | (high << (8 * part.bytes)), 0};
}

/// Fisher and Yates, from the last place down.
std::vector<std::uint64_t> permutation(std::uint64_t size, const Stream& stream) {
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

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
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

std::vector<ElementBits> special_values(const Dtype& dtype) {
  std::vector<ElementBits> values;
  const auto bits = [&](std::uint64_t pattern) { values.push_back({pattern, 0}); };
  if (dtype.kind == NumberKind::boolean) {
    bits(0);
    bits(1);
  } else if (dtype.is_floating()) {
    const int width = dtype.exponent_bits + dtype.mantissa_bits;
    const std::uint64_t sign = dtype.mantissa_bits > 0 ? std::uint64_t{1} << width : 0;
    const std::uint64_t one = encode_float(dtype, 1);
    const std::uint64_t least_normal = std::uint64_t{1} << dtype.mantissa_bits;
    const std::uint64_t exponents = ((std::uint64_t{1} << dtype.exponent_bits) - 1)
                                    << dtype.mantissa_bits;
    const std::uint64_t greatest = dtype.has_infinity         ? exponents - 1
                                   : dtype.mantissa_bits == 0 ? 254
                                   : dtype.has_negative_zero  ? (std::uint64_t{1} << width) - 2
                                                              : (std::uint64_t{1} << width) - 1;
    std::vector<std::uint64_t> patterns = {
        0,       1,       least_normal - 1,         least_normal,           one - 1,
        one,     one + 1, encode_float(dtype, 0.5), encode_float(dtype, 2), greatest - 1,
        greatest};
    if (dtype.has_infinity) patterns.push_back(exponents);
    for (const std::uint64_t pattern : patterns) {
      bits(pattern);
      if (sign != 0 && (pattern != 0 || dtype.has_negative_zero)) bits(pattern | sign);
    }
    bits(encode_float(dtype, std::nan("")));
  } else if (dtype.is_complex()) {
    const Dtype& part = *find_dtype(dtype.part);
    const std::vector<ElementBits> parts = special_values(part);
    for (std::size_t i = 0; i < parts.size();
         ++i) {  // every real part once, each with another imaginary part
      const std::uint64_t high = parts[(i * 7 + 3) % parts.size()].low;
      values.push_back(part.bytes == 8 ? ElementBits{parts[i].low, high}
                                       : ElementBits{parts[i].low | (high << (8 * part.bytes)), 0});
    }
  } else {
    const int width = dtype.bytes * 8;
    const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    const std::uint64_t top = std::uint64_t{1} << (width - 1);
    for (const std::uint64_t pattern : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, all,
                                        all - 1, top, top - 1, top + 1}) {
      bits(pattern);
    }
  }
  return values;
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
  const Stream stream(rule.seed, stream_name);
  if (rule.rule == "special") {
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
