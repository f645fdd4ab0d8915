#pragma once

#include "judge/numerics/compare.h"

namespace lockstep {

/// Integers, bools and bits of floats that come of floating numbers: what the rounding of a step
/// upstream turns is nobody's mistake.  With e eager, c compiled, g the fp64 gold and s the samples
/// of its noise, an element is decided where g and every s say what e says; it must be the same
/// then.  CrossDevice it turns on how steps are rounded, and c may be further than all of them by
/// twice what they span, so that bits of floats and indices are not anything.  What comes of
/// integers alone is decided everywhere.  A cast that C++ does not define has another result in g
/// than in s (workers/eager/gold.h), so that what hangs on it is not decided.
struct Decisions {
  std::int64_t turning = 0;  ///< elements that differ where the golds do not decide
  std::int64_t beyond = 0;   ///< that differ where they do, or by more than the golds do
};

/// Nothing of floating numbers, without the gold or its samples, or where its dtype is not eager's.
std::optional<Decisions> decisions(const Comparison& comparison);

/// `decided`: nothing is beyond; without golds, nothing differs.
CheckResult check_decided(Comparison& comparison);

}  // namespace lockstep
