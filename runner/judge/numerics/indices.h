#pragma once

#include "judge/numerics/compare.h"

namespace lockstep {

/// Indices (of argmax, topk, sort) that select equal values: with x the tensor `policy.of` of the
/// same call,
///   x_c[i_c] == x_e[i_e]   (a NaN equals a NaN), along `policy.dim`, or in the flattened tensor
///   without one;
/// every index lies in range. If eager's indices along `dim` are all different, so are compiled's:
/// a sort that names one of two equal elements twice selects equal values and is wrong. Source:
/// PyTorch's bug template ("don't compare max/min indices").
CheckResult check_indices(Comparison& comparison, const Policy& policy);

}  // namespace lockstep
