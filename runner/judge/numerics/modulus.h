#pragma once

#include <cmath>
#include <limits>

namespace lockstep {

/// |x + iy| as a double; infinity where either is infinite, else NaN where either is NaN. In long
/// double, whose exponents hold the squares, so that it does not hang on the C library, as
/// std::hypot does, which also needs glibc 2.35 where it was linked with that.
inline double modulus(double x, double y) {
  if (std::isinf(x) || std::isinf(y)) return std::numeric_limits<double>::infinity();
  const long double a = x;
  const long double b = y;
  return static_cast<double>(std::sqrt(a * a + b * b));
}

}  // namespace lockstep
