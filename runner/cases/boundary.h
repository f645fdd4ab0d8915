#pragma once

#include <vector>

#include "cases/case.h"

namespace lockstep {

/// The boundary values of a dtype: zeros, subnormals, neighbours of one, limits, infinities, NaNs;
/// for integers 0, +-1, limits.
std::vector<ElementBits> special_values(const Dtype& dtype);

/// Many more of them, each once: also the neighbours of powers of two, halves and their ties, where
/// squares overflow and vanish, and the limits of other dtypes; for integers the neighbours of
/// powers of two, among them shift counts around the width.  64 to 128 of the floating dtypes of 16
/// bits and more, so that 16384 pairs have every pair.
std::vector<ElementBits> boundary_values(const Dtype& dtype);

}  // namespace lockstep
