#pragma once

#include "judge/numerics/compare.h"

namespace lockstep {

/// `stepwise(n)`: |c - g| <= |e - g| + n ulp(g) for every element, g the stepwise gold; integers
/// have no ulp here; where g is not finite, c == e.
///
/// Near a tie, two kernels that differ in the last bit of float32 round to different numbers of 16
/// bits. Results that depend on such a number may move by any amount. Samples of stepwise_noise
/// show such moves. Count the elements of each sample s, eager among them, that are more than n ulp
/// from g; let b > 0 be the greatest count. Then c may have up to 2 b + 2 such elements, with max|c
/// - g| <= 2 max|s - g| + n ulp(max|g|). A cast that is missing moves most elements, and these are
/// as few as ties
/// are.
CheckResult check_stepwise(Comparison& comparison, double steps);

}  // namespace lockstep
