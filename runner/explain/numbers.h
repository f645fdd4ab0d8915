#pragma once

#include "explain/operators.h"

namespace lockstep {

/// Reads eager, compiled and the golds through every step at the worst element: that of the first
/// guilty step, else of the output that the fault is about.  A step of another shape is read where
/// broadcasting leads, one that this does not reach where it differs first, or at its beginning.
/// Fills the numbers of `steps`, and which gold agrees with whom.
void read_numbers(const Suspect& suspect, const SeenValues& seen, Explanation& explanation);

}  // namespace lockstep
