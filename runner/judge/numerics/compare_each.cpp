#include <algorithm>
#include <bit>
#include <cmath>

#include "judge/numerics/classes.h"
#include "judge/numerics/kernels.h"
#include "judge/numerics/modulus.h"
#include "judge/numerics/numbers.h"

namespace lockstep {
namespace {

/// Both sides of one element, its parts (two of a complex one) decoded.
struct ElementPair {
  std::array<double, 2> value[2] = {};  ///< of each side, its parts
  bool payload = false, unequal = false, finite = true;
  DifferenceClass worst = DifferenceClass::none;
  std::uint64_t ulp = 0;
};

ElementPair decode(const Dtype& dtype, const std::byte* eager, const std::byte* compiled) {
  const Dtype& number = number_dtype(dtype);
  ElementPair pair;
  for (int p = 0; p < dtype.bytes / number.bytes; ++p) {
    const std::uint64_t e = load_bits(eager + p * number.bytes, number.bytes);
    const std::uint64_t c = load_bits(compiled + p * number.bytes, number.bytes);
    const double x = pair.value[0][p] = decode_float(number, e);
    const double y = pair.value[1][p] = decode_float(number, c);
    const bool finite = std::isfinite(x) && std::isfinite(y);
    pair.finite = pair.finite && finite;
    if (e == c) continue;
    pair.payload = true;
    pair.unequal |= x != y && !(std::isnan(x) && std::isnan(y));
    pair.worst = std::min(pair.worst, class_of(number, e, c));
    if (finite) pair.ulp = std::max(pair.ulp, ulp_distance(number, e, c));
  }
  return pair;
}

bool is_zero(const std::array<double, 2>& z) { return z[0] == 0.0 && z[1] == 0.0; }
bool is_nan(const std::array<double, 2>& z) { return std::isnan(z[0]) || std::isnan(z[1]); }

void note(bool is_it, std::int64_t position, std::int64_t& how_many, std::int64_t& first) {
  how_many += is_it;
  if (is_it && first < 0) first = position;
}

/// An error and what it is relative to; both finite, unless they overflow.
void note_error(double error, double magnitude, std::int64_t position, PairNumbers& numbers) {
  if (!std::isfinite(magnitude)) return;
  if (error > numbers.max_abs) {
    numbers.max_abs = error;
    numbers.max_abs_at = position;
  }
  if (magnitude > 0) numbers.max_rel = std::max(numbers.max_rel, error / magnitude);
}

/// In float32, as torch computes with narrow dtypes.
void note_narrow(float e, float c, std::int64_t position, const Tolerance& tolerance,
                 PairNumbers& numbers) {
  const float error = std::fabs(c - e);
  const float allowed =
      static_cast<float>(tolerance.atol) + static_cast<float>(tolerance.rtol) * std::fabs(e);
  note(!(error <= allowed), position, numbers.not_close, numbers.first_not_close);
  note_error(error, 0, position, numbers);
  if (std::fabs(e) > 0)
    numbers.max_rel = std::max(numbers.max_rel, static_cast<double>(error / std::fabs(e)));
}

}  // namespace

void measure_complex(const std::array<double, 2>& eager, const std::array<double, 2>& compiled,
                     std::int64_t position, const Tolerance& tolerance, PairNumbers& numbers) {
  const double error = modulus(compiled[0] - eager[0], compiled[1] - eager[1]);
  const double magnitude = modulus(eager[0], eager[1]);
  const bool close = std::isfinite(error) && error <= tolerance.atol + tolerance.rtol * magnitude;
  note(!close, position, numbers.not_close, numbers.first_not_close);
  note_error(error, magnitude, position, numbers);
}

void compare_each(const Dtype& dtype, const std::byte* eager, const std::byte* compiled,
                  std::size_t count, std::int64_t position, const Tolerance& tolerance,
                  PairNumbers& numbers) {
  const auto bytes = static_cast<std::size_t>(dtype.bytes);
  for (std::size_t i = 0; i < count; ++i, ++position) {
    const ElementPair pair = decode(dtype, eager + i * bytes, compiled + i * bytes);
    const auto& [e, c] = pair.value;
    numbers.all_zero = numbers.all_zero && is_zero(e) && is_zero(c);
    numbers.all_nan = numbers.all_nan && is_nan(e) && is_nan(c);
    if (!pair.payload) continue;
    note(true, position, numbers.payload_differing, numbers.first_payload);
    if (pair.worst == DifferenceClass::none) continue;
    note(true, position, numbers.differing, numbers.first_differing);
    ++numbers.of(pair.worst);
    note(pair.worst <= DifferenceClass::infinity_sign, position, numbers.nonfinite,
         numbers.first_nonfinite);
    if (pair.ulp > 0) ++numbers.ulps[static_cast<std::size_t>(std::bit_width(pair.ulp - 1))];
    if (pair.ulp > numbers.max_ulp) {
      numbers.max_ulp = pair.ulp;
      numbers.max_ulp_at = position;
    }
    if (!pair.unequal) continue;
    ++numbers.unequal;
    if (!pair.finite) {
      note(true, position, numbers.not_close, numbers.first_not_close);
    } else if (dtype.is_complex()) {
      measure_complex(e, c, position, tolerance, numbers);
    } else {
      note_narrow(static_cast<float>(e[0]), static_cast<float>(c[0]), position, tolerance, numbers);
    }
  }
}

}  // namespace lockstep
