#pragma once

#include <cmath>
#include <limits>

namespace lockstep {

/// |x + iy| as a double; infinity where either is infinite, else NaN where either is NaN. Computed
/// in long double, whose exponents hold the squares. std::hypot would depend on the C library, and
/// would need glibc 2.35 if linked with it.
inline double modulus(double x, double y) {
  if (std::isinf(x) || std::isinf(y)) return std::numeric_limits<double>::infinity();
  const long double a = x;
  const long double b = y;
  return static_cast<double>(std::sqrt(a * a + b * b));
}

}  // namespace lockstep
