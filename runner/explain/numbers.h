#pragma once

#include "explain/operators.h"

namespace lockstep {

/// Reads eager, compiled and the golds at every step. It looks at the worst element of the faulty
/// output, as far as broadcasting leads there. Otherwise it takes the first element of the last
/// guilty step that differs, or the step's own first element. Fills the numbers of `steps`, and
/// which gold
/// agrees with whom.
void read_numbers(const Suspect& suspect, const SeenValues& seen, Explanation& explanation);

}  // namespace lockstep
