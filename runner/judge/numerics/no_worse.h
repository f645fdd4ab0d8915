#pragma once

#include "judge/numerics/compare.h"

namespace lockstep {

/// `no_worse(k)`, g the fp64 gold:
///   max|c - g| <= k max(max|e - g|, 2 max|s - g|) + eps max|g|,  eps = 2u of the dtype, 0 for
/// integers, s the samples of fp64_noise (gold.h), where there are some;
/// where g is not finite, c == e. gold.h bounds how many numbers may have |c - g| > max(|g| / 8,
/// atol, ulp(g)): otherwise one large element would allow every small one its absolute error.
CheckResult check_no_worse(Comparison& comparison, double factor);

}  // namespace lockstep
