#include "cases/boundary.h"

#include <algorithm>
#include <cmath>

#include "cases/fill.h"

namespace lockstep {
namespace {

/// Patterns of a floating dtype from which others are found; without their sign.
struct Landmarks {
  std::uint64_t sign;  ///< 0 where there is none
  std::uint64_t least_normal;
  std::uint64_t infinity;  ///< where the dtype has one
  std::uint64_t greatest;  ///< the greatest finite value
};

Landmarks landmarks(const Dtype& dtype) {
  const int width = dtype.exponent_bits + dtype.mantissa_bits;
  const std::uint64_t exponents = ((std::uint64_t{1} << dtype.exponent_bits) - 1)
                                  << dtype.mantissa_bits;
  return {dtype.mantissa_bits > 0 ? std::uint64_t{1} << width : 0,
          std::uint64_t{1} << dtype.mantissa_bits, exponents,
          dtype.has_infinity         ? exponents - 1
          : dtype.mantissa_bits == 0 ? 254
          : dtype.has_negative_zero  ? (std::uint64_t{1} << width) - 2
                                     : (std::uint64_t{1} << width) - 1};
}

/// Complex values: every real part once, each with another imaginary part.
std::vector<ElementBits> pairs(const Dtype& part, const std::vector<ElementBits>& parts) {
  std::vector<ElementBits> values;
  for (std::size_t i = 0; i < parts.size(); ++i)
    values.push_back(complex_element(part, parts[i].low, parts[(i * 7 + 3) % parts.size()].low));
  return values;
}

/// Patterns, each once.
class Patterns {
 public:
  void add(std::uint64_t pattern) {
    const bool known = std::any_of(values_.begin(), values_.end(),
                                   [&](const ElementBits& bits) { return bits.low == pattern; });
    if (!known) values_.push_back({pattern, 0});
  }
  std::vector<ElementBits> take() { return std::move(values_); }

 private:
  std::vector<ElementBits> values_;
};

std::vector<ElementBits> floating_boundaries(const Dtype& dtype) {
  const auto [sign, least_normal, infinity, greatest] = landmarks(dtype);
  const auto power = [&](int exponent) {  // its pattern; the dtype has it
    return static_cast<std::uint64_t>(exponent + dtype.bias) << dtype.mantissa_bits;
  };
  const int half_range = (dtype.bias + 1) / 2;
  std::vector<std::uint64_t> magnitudes = {0, 1, 2, least_normal >> 1};
  const auto neighbours = [&](std::uint64_t pattern) {
    for (const std::uint64_t near : {pattern - 1, pattern, pattern + 1}) magnitudes.push_back(near);
  };
  neighbours(least_normal);
  for (const int exponent : {-1, 0, 1}) neighbours(power(exponent));
  neighbours(power(half_range));             // where squares overflow
  magnitudes.push_back(power(-half_range));  // where they vanish
  magnitudes.push_back(power(-dtype.mantissa_bits / 2));
  for (const int exponent : {dtype.mantissa_bits, dtype.mantissa_bits + 1}) {
    // Where halves, and then odd numbers, end.
    if (exponent < dtype.bias) neighbours(power(exponent));
  }
  for (const double number : {0.1,
                              0.25,
                              1.0 / 3,
                              0.75,
                              1.5,
                              2.5,
                              3.0,
                              3.14159265358979323846,
                              2.718281828459045,
                              3.5,
                              4.5,
                              5.5,
                              7.0,
                              10.0,
                              11.09,
                              16.0,
                              88.5,
                              100.0,
                              127.0,
                              127.5,
                              128.0,
                              255.5,
                              256.0,
                              709.5,
                              1000.0,
                              32767.0,
                              32768.0,
                              65504.0,
                              65536.0,
                              2147483648.0,
                              0x1p63,
                              1e30})
    magnitudes.push_back(encode_float(dtype, number));
  for (const std::uint64_t pattern : {greatest - 1, greatest}) magnitudes.push_back(pattern);
  if (dtype.has_infinity) magnitudes.push_back(infinity);
  Patterns patterns;
  for (const std::uint64_t pattern : magnitudes) {
    if (std::isnan(decode_float(dtype, pattern))) continue;  // a number that the dtype lacks
    patterns.add(pattern);
    if (sign != 0 && (pattern != 0 || dtype.has_negative_zero)) patterns.add(pattern | sign);
  }
  patterns.add(encode_float(dtype, std::nan("")));
  return patterns.take();
}

std::vector<ElementBits> integer_boundaries(const Dtype& dtype) {
  const int width = dtype.bytes * 8;
  const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  Patterns patterns;
  const auto both = [&](std::uint64_t magnitude) {
    patterns.add(magnitude & all);
    patterns.add((~magnitude + 1) & all);
  };
  for (const std::uint64_t small : {0, 1, 2, 3, 4, 5, 6, 10}) both(small);
  both((std::uint64_t{1} << (width - 1)) - 2);  // beside the greatest
  // The lowest are shift counts around the width, too.
  for (const int exponent : {3, 4, 5, 6, 7, 8, 15, 16, 24, 31, 32, 53, 62, 63}) {
    if (exponent >= width) break;
    const std::uint64_t power = std::uint64_t{1} << exponent;
    for (const std::uint64_t near : {power - 1, power, power + 1}) both(near);
  }
  return patterns.take();
}

}  // namespace

std::vector<ElementBits> special_values(const Dtype& dtype) {
  std::vector<ElementBits> values;
  const auto bits = [&](std::uint64_t pattern) { values.push_back({pattern, 0}); };
  if (dtype.kind == NumberKind::boolean) {
    bits(0);
    bits(1);
  } else if (dtype.is_floating()) {
    const auto [sign, least_normal, infinity, greatest] = landmarks(dtype);
    const std::uint64_t one = encode_float(dtype, 1);
    std::vector<std::uint64_t> patterns = {
        0,       1,       least_normal - 1,         least_normal,           one - 1,
        one,     one + 1, encode_float(dtype, 0.5), encode_float(dtype, 2), greatest - 1,
        greatest};
    if (dtype.has_infinity) patterns.push_back(infinity);
    for (const std::uint64_t pattern : patterns) {
      bits(pattern);
      if (sign != 0 && (pattern != 0 || dtype.has_negative_zero)) bits(pattern | sign);
    }
    bits(encode_float(dtype, std::nan("")));
  } else if (dtype.is_complex()) {
    const Dtype& part = *find_dtype(dtype.part);
    values = pairs(part, special_values(part));
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

std::vector<ElementBits> boundary_values(const Dtype& dtype) {
  if (dtype.kind == NumberKind::boolean) return special_values(dtype);
  if (dtype.is_floating()) return floating_boundaries(dtype);
  if (dtype.is_complex()) {
    const Dtype& part = *find_dtype(dtype.part);
    return pairs(part, floating_boundaries(part));
  }
  return integer_boundaries(dtype);
}

}  // namespace lockstep
