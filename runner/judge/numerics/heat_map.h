#pragma once

#include <optional>

#include "verdict/verdict.h"

namespace lockstep {

/// Where two tensors of one shape and dtype differ.  Nothing where a map says nothing (fewer than
/// two elements) or would take too long (2^30, as expanded views may have).
std::optional<HeatMap> heat_map(const TensorView& eager, const TensorView& compiled);

}  // namespace lockstep
