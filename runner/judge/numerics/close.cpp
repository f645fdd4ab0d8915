#include "judge/numerics/close.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge/numerics/numbers.h"

namespace lockstep {

CheckResult check_close(Comparison& comparison, const Policy& policy) {
  const Dtype& dtype = *comparison.subject().eager->dtype;
  Tolerance tolerance = close_tolerance(dtype);
  if (policy.rtol && policy.atol) tolerance = {*policy.rtol, *policy.atol};
  if (policy.terms) {
    const Dtype& number = number_dtype(dtype);
    if (number.is_floating()) {
      const double roundoff = std::min(unit_roundoff(number), 0x1p-24);
      tolerance.atol += 16 * std::sqrt(static_cast<double>(*policy.terms)) * roundoff *
                        greatest_magnitude(comparison.walk(), dtype, comparison.options());
    }
  }
  const PairNumbers& numbers = comparison.pair(tolerance);
  return leaf(Quantity::outside, numbers.not_close, 0, [&] {
    return fmt::format("{} outside rtol {:.3g}, atol {:.3g}{}",
                       comparison.of_all(numbers.not_close), tolerance.rtol, tolerance.atol,
                       comparison.worst_place());
  });
}

Tolerance close_tolerance(const Dtype& dtype) {
  const Dtype& number = number_dtype(dtype);
  if (number.name == "float16") return {1e-3, 1e-5};
  if (number.name == "bfloat16") return {1.6e-2, 1e-5};
  if (number.name == "float32" || dtype.kind == NumberKind::quantized) return {1.3e-6, 1e-5};
  if (number.name == "float64") return {1e-7, 1e-7};
  return {0, 0};
}

}  // namespace lockstep
