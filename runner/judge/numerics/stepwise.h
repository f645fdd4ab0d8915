#pragma once

#include "judge/numerics/compare.h"

namespace lockstep {

/// `stepwise(n)`: |c - g| <= |e - g| + n ulp(g) for every element, g the stepwise gold; integers
/// have no ulp here; where g is not finite, c == e.
///
/// Two kernels that differ in the last bit of float32 round to other numbers of 16 bits near a tie,
/// and what hangs on such a number may move by any amount.  Samples of stepwise_noise show such
/// moves: with b the most elements of one, or of eager, that are more than n ulp from g, b > 0,
/// there may be up to 2 b + 2 beyond, and max|c - g| <= 2 max|s - g| + n ulp(max|g|), eager being
/// one of the samples s.  A cast that is missing moves most elements, and these are as few as ties
/// are.
CheckResult check_stepwise(Comparison& comparison, double steps);

}  // namespace lockstep
