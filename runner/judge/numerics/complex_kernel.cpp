#include <cmath>

#include "judge/numerics/kernels.h"
#include "judge/numerics/modulus.h"
#include "judge/numerics/numbers.h"

namespace lockstep {
namespace {

/// Both sides of one element, its two parts decoded.
struct ComplexPair {
  double value[2][2];  ///< [side][part]
  bool payload = false, differs = false, unequal = false, special = false;
  std::uint64_t ulp = 0;
};

ComplexPair decode(const Dtype& part, const std::byte* eager, const std::byte* compiled) {
  ComplexPair pair;
  for (std::size_t p = 0; p < 2; ++p) {
    const std::size_t offset = p * static_cast<std::size_t>(part.bytes);
    const std::uint64_t e = load_bits(eager + offset, part.bytes);
    const std::uint64_t c = load_bits(compiled + offset, part.bytes);
    const double x = pair.value[0][p] = decode_float(part, e);
    const double y = pair.value[1][p] = decode_float(part, c);
    const bool differs = e != c && !(std::isnan(x) && std::isnan(y));
    const bool finite = std::isfinite(x) && std::isfinite(y);
    pair.payload |= e != c;
    pair.differs |= differs;
    pair.unequal |= differs && x != y;
    pair.special |= differs && !finite;
    if (finite) pair.ulp = std::max(pair.ulp, ulp_distance(part, e, c));
  }
  return pair;
}

bool is_zero(const double (&z)[2]) { return z[0] == 0.0 && z[1] == 0.0; }
bool is_nan(const double (&z)[2]) { return std::isnan(z[0]) || std::isnan(z[1]); }

}  // namespace

void complex_kernel(const Dtype& dtype, const std::byte* eager, const std::byte* compiled,
                    std::size_t count, std::int64_t position, const Tolerance& tolerance,
                    PairNumbers& numbers) {
  const Dtype& part = number_dtype(dtype);
  const auto bytes = static_cast<std::size_t>(dtype.bytes);
  for (std::size_t i = 0; i < count; ++i, ++position) {
    const ComplexPair pair = decode(part, eager + i * bytes, compiled + i * bytes);
    const auto& e = pair.value[0];
    const auto& c = pair.value[1];
    numbers.all_zero = numbers.all_zero && is_zero(e) && is_zero(c);
    numbers.all_nan = numbers.all_nan && is_nan(e) && is_nan(c);
    if (!pair.payload) continue;
    const double error = modulus(c[0] - e[0], c[1] - e[1]);
    const double magnitude = modulus(e[0], e[1]);
    const bool close = !pair.unequal || (std::isfinite(error) &&
                                         error <= tolerance.atol + tolerance.rtol * magnitude);
    const auto note = [&](bool is_it, std::int64_t& how_many, std::int64_t& first) {
      how_many += is_it;
      if (is_it && first < 0) first = position;
    };
    note(true, numbers.payload_differing, numbers.first_payload);
    note(pair.differs, numbers.differing, numbers.first_differing);
    note(pair.special, numbers.nonfinite, numbers.first_nonfinite);
    note(!close, numbers.not_close, numbers.first_not_close);
    numbers.unequal += pair.unequal;
    if (pair.ulp > numbers.max_ulp) {
      numbers.max_ulp = pair.ulp;
      numbers.max_ulp_at = position;
    }
    if (!std::isfinite(magnitude) || pair.special || std::isnan(error)) continue;
    if (error > numbers.max_abs) {
      numbers.max_abs = error;
      numbers.max_abs_at = position;
    }
    if (magnitude > 0) numbers.max_rel = std::max(numbers.max_rel, error / magnitude);
  }
}

}  // namespace lockstep
