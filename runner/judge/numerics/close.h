#pragma once

#include "judge/numerics/compare.h"

namespace lockstep {

/// `close`: |c - e| <= atol + rtol |e|, as torch.testing.assert_close with equal_nan computes it,
/// by its table or by the tolerances that the policy has.
///
/// `close(k=K)`: the same with atol + 16 sqrt(K) u max|e|, u the unit roundoff (at least
/// float32's): On each side a sum of K terms in another order errs by at most lambda sqrt(K) u
/// times the sum of magnitudes, with probability 1 - 2 exp(-lambda^2 / 2). Source: Higham & Mary
/// 2019, thm 2.4; lambda = 8, magnitudes estimated by max|e|.
CheckResult check_close(Comparison& comparison, const Policy& policy);

/// The table of torch.testing.assert_close (torch/testing/_comparison.py, _DTYPE_PRECISIONS); 0, 0
/// for what is not in it.
Tolerance close_tolerance(const Dtype& dtype);

}  // namespace lockstep
