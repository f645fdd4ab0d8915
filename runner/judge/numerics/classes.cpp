#include "judge/numerics/classes.h"

#include <algorithm>
#include <cstdlib>

#include "judge/numerics/numbers.h"

namespace lockstep {

DifferenceClass class_of(const Dtype& number, std::uint64_t eager, std::uint64_t compiled) {
  using enum DifferenceClass;
  if (eager == compiled) return none;
  const bool nan = is_nan(number, eager), infinite = is_infinity(number, eager);
  if (nan != is_nan(number, compiled)) return nan ? eager_nan : compiled_nan;
  if (nan) return none;
  if (infinite && is_infinity(number, compiled)) return infinity_sign;
  if (infinite) return eager_infinity;
  if (is_infinity(number, compiled)) return compiled_infinity;
  const std::int64_t x = ordered(number, eager);
  const std::int64_t y = ordered(number, compiled);
  const auto below = [&](std::int64_t magnitude) {
    return std::abs(x) < magnitude && std::abs(y) < magnitude;
  };
  // An exponent-only format has neither zeros nor subnormals.
  if (number.mantissa_bits > 0) {
    if (below(1)) return zero_sign;
    if (below(std::int64_t{1} << number.mantissa_bits)) return subnormal;
  }
  return ulp_distance(number, eager, compiled) <= kLastBits ? last_bits : value;
}

DifferenceClasses difference_classes(const PairNumbers& numbers) {
  using enum DifferenceClass;
  DifferenceClasses classes;
  classes.eager_nan = numbers.of(eager_nan);
  classes.nan = classes.eager_nan + numbers.of(compiled_nan);
  classes.eager_infinity = numbers.of(eager_infinity);
  classes.compiled_infinity = numbers.of(compiled_infinity);
  classes.infinity = classes.eager_infinity + classes.compiled_infinity + numbers.of(infinity_sign);
  classes.zero_sign = numbers.of(zero_sign);
  classes.subnormal = numbers.of(subnormal);
  classes.last_bits = numbers.of(last_bits);
  classes.value = numbers.of(value);
  return classes;
}

std::vector<std::int64_t> ulp_histogram(const PairNumbers& numbers) {
  std::vector<std::int64_t> ulps(numbers.ulps.begin(), numbers.ulps.end());
  while (!ulps.empty() && ulps.back() == 0) ulps.pop_back();
  return ulps;
}

}  // namespace lockstep
