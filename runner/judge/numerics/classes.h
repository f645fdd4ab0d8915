#pragma once

#include <cstdint>
#include <vector>

#include "judge/numerics/kernels.h"
#include "verdict/verdict.h"

namespace lockstep {

/// In which way two numbers of a floating dtype differ.
DifferenceClass class_of(const Dtype& number, std::uint64_t eager, std::uint64_t compiled);

/// OutputComparison::classes of two floating or complex tensors.
DifferenceClasses difference_classes(const PairNumbers& numbers);

/// OutputComparison::ulp_histogram of them.
std::vector<std::int64_t> ulp_histogram(const PairNumbers& numbers);

}  // namespace lockstep
