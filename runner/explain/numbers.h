#pragma once

#include "explain/operators.h"

namespace lockstep {

/// Reads eager, compiled and the golds through every step: at the worst element of what the fault
/// is about, as far as broadcasting leads there; else at the first element of the last guilty step
/// that differs; else at the step's own first one.  Fills the numbers of `steps`, and which gold
/// agrees with whom.
void read_numbers(const Suspect& suspect, const SeenValues& seen, Explanation& explanation);

}  // namespace lockstep
