#pragma once

#include <cstdint>
#include <vector>

#include "judge/numerics/statistics.h"
#include "verdict/verdict.h"

namespace lockstep {

/// In which ways the elements of the walk's first two views differ, both of that floating or
/// complex dtype.  A pass of its own, made only where something differs.
DifferenceClasses difference_classes(const TensorWalk& walk, const Dtype& dtype,
                                     const PassOptions& options = {});

/// OutputComparison::ulp_histogram of the same two views.
std::vector<std::int64_t> ulp_histogram(const TensorWalk& walk, const Dtype& dtype,
                                        const PassOptions& options = {});

}  // namespace lockstep
