#pragma once

#include <string>

#include "wire/observation.h"

namespace lockstep {

/// Names what an execution returned and left behind, by its first repetition: names, dtypes, shapes
/// and elements of outputs, inputs and gradients, in the order of the index. A NaN is one whatever
/// its payload; strides and what shares memory are left out, but an element that stands for a whole
/// expanded dimension counts once. Two that are equal computed the same bits.
///
/// 16 hexadecimal digits; empty where nothing was returned.
std::string results_digest(const Observation& observation);

}  // namespace lockstep
