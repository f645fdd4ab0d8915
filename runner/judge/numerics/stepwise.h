#pragma once

#include "judge/numerics/compare.h"

namespace lockstep {

/// `stepwise(n)`: |c - g| <= |e - g| + n ulp(g) for every element, g the stepwise gold; integers
/// have no ulp here; where g is not finite, c == e.
CheckResult check_stepwise(Comparison& comparison, double steps);

}  // namespace lockstep
