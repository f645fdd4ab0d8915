#pragma once

#include "judge/numerics/compare.h"

namespace lockstep {

/// PyTorch's accuracy gate, hardened.  Conforms if |e - c| <= tol + tol |c| for every number, or
/// else, where there is a gold g, if
///   RMSE(c, g) <= m RMSE(e, g) + tol / 10
/// with upstream's m: 3 for fewer than 1000 elements, for [.., .., 1, 1] and for tol >= 2e-2, else
/// 3 for float16 and bfloat16, else 2. Hardened: integers and bools exact; NaN, +Inf and -Inf
/// positions equal (the caller has checked them); numbers are compared where all sides are finite,
/// and where only g is not, c == e; and with `cast_faithful` g is the stepwise gold where there is
/// one, so that an elided cast, which the fp64 gold does not know of, is a difference. Source of
/// the rule: torch/_dynamo/utils.py, `same`.
CheckResult check_same(Comparison& comparison, double tol, bool cast_faithful);

/// The same rule exactly as torch 2.13 has it, with `equal_nan`: torch._dynamo.utils.same(eager,
/// compiled, fp64, tol=tol, equal_nan=True).
CheckResult check_same_upstream(Comparison& comparison, double tol);

/// torch._dynamo.utils.same on two tensors, which need not have the same dtype or shape, and a gold
/// (nullptr: none given).  `Error` where upstream raises.
Result<bool> same_upstream(const TensorView& ref, const TensorView& res, const TensorView* fp64_ref,
                           double tol, bool equal_nan);

}  // namespace lockstep
