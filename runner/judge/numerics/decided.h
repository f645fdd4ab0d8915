#pragma once

#include "judge/numerics/compare.h"

namespace lockstep {

/// Integers, bools and bits of floats that come of floating numbers: what an ulp upstream turns is
/// nobody's mistake.  With e eager, c compiled and the golds fp64 and perturbed, an element is
/// decided where both golds say what eager says; it must be the same then. Elsewhere it turns on
/// the last bits of the inputs, and
///
///   |c - e| <= 4 (max - min of e and the golds)
///
/// keeps bits of floats and indices from being anything.  What comes of integers alone is decided
/// everywhere.  A cast that C++ does not define has another result in each of the two fp64 golds
/// (workers/eager/gold.h), so that what hangs on it is not decided.
struct Decisions {
  std::int64_t turning = 0;     ///< elements that differ where the golds do not decide
  std::int64_t beyond = 0;      ///< that differ where they do, or by more than the golds do
  std::int64_t beyond_at = -1;  ///< position of the first of these
};

/// Nothing of floating numbers, without the two golds, or where their dtypes are not eager's.
std::optional<Decisions> decisions(const Comparison& comparison);

/// `decided`: nothing is beyond; without golds, nothing differs.
CheckResult check_decided(Comparison& comparison);

}  // namespace lockstep
