#include "cases/stratified.h"

#include <array>

#include "cases/boundary.h"
#include "cases/fill.h"

namespace lockstep {
namespace {

constexpr std::size_t kBoundaryMantissas = 8;
constexpr std::uint64_t kMostLimits = 16;  ///< no integer dtype has more special values

std::uint64_t ones(std::uint64_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// Random bits, the lower of two words at `draw`; half of them end at or next to a rounding tie:
/// some random bits, and below them 1000..., 0111..., 100..01 or 0000...
std::uint64_t random_digits(std::uint64_t count, const RandomStream& stream, std::uint64_t k,
                            std::uint32_t draw) {
  if (count == 0) return 0;
  const std::uint64_t digits = stream.word(k, draw) & ones(count);
  const std::uint64_t choice = stream.word(k, draw + 1);
  if ((choice & 1) == 0) return digits;
  const std::uint64_t length = 1 + (choice >> 8) % count;  // of the tail
  const std::uint64_t top = std::uint64_t{1} << (length - 1);
  const std::array<std::uint64_t, 4> tails = {top, top - 1, top | 1, 0};
  return (digits & ~ones(length)) | tails[(choice >> 1) & 3];
}

/// Of `pair`, which counts signs and exponents, and of `turn`, which counts how often it was met.
std::uint64_t float_pattern(const Dtype& dtype, std::uint64_t pair, std::uint64_t turn,
                            const RandomStream& stream, std::uint64_t k, std::uint32_t draw) {
  const auto width = static_cast<std::uint64_t>(dtype.mantissa_bits);
  if (width == 0) return pair;  // float8_e8m0fnu: exponents are all there is
  const std::uint64_t all = ones(width), top = std::uint64_t{1} << (width - 1);
  const std::array<std::uint64_t, kBoundaryMantissas> boundaries = {0,   1,       all,     all - 1,
                                                                    top, top - 1, top | 1, 2};
  const std::uint64_t mantissa =
      turn < boundaries.size() ? boundaries[turn] : random_digits(width, stream, k, draw);
  const std::uint64_t sign = pair & 1, exponent = pair >> 1;
  return (sign << (width + static_cast<std::uint64_t>(dtype.exponent_bits))) | (exponent << width) |
         mantissa;
}

std::uint64_t pairs_of(const Dtype& dtype) {
  return std::uint64_t{1} << (dtype.exponent_bits + (dtype.mantissa_bits > 0 ? 1 : 0));
}

std::uint64_t integer_pattern(const Dtype& dtype, const RandomStream& stream, std::uint64_t k) {
  if (k < kMostLimits) {
    const std::vector<ElementBits> limits = special_values(dtype);
    if (k < limits.size()) return limits[k].low;
  }
  const auto width = static_cast<std::uint64_t>(dtype.bytes) * 8;
  const std::uint64_t length = stream.below(width + 1, k, 2);
  if (length == 0) return 0;
  const std::uint64_t magnitude =
      (std::uint64_t{1} << (length - 1)) | random_digits(length - 1, stream, k, 0);
  return ((stream.word(k, 3) & 1) != 0 ? ~magnitude + 1 : magnitude) & ones(width);
}

}  // namespace

ElementBits stratified_element(const Dtype& dtype, const RandomStream& stream, std::uint64_t k) {
  if (dtype.kind == NumberKind::boolean) return {k & 1, 0};
  if (dtype.is_floating()) {
    const std::uint64_t count = pairs_of(dtype);
    return {float_pattern(dtype, k % count, k / count, stream, k, 0), 0};
  }
  if (!dtype.is_complex()) return {integer_pattern(dtype, stream, k), 0};
  const Dtype& part = *find_dtype(dtype.part);
  const std::uint64_t count = pairs_of(part);
  // The imaginary part draws its pair and turn, so that it has no part in the walk of the real one.
  const std::uint64_t imaginary = float_pattern(
      part, stream.below(count, k, 4), stream.below(2 * kBoundaryMantissas, k, 5), stream, k, 2);
  return complex_element(part, float_pattern(part, k % count, k / count, stream, k, 0), imaginary);
}

}  // namespace lockstep
