#pragma once

#include "judge/numerics/compare.h"

namespace lockstep {

/// Integers, bools and bits of floats that are computed from floating numbers. If the rounding of
/// an earlier step changes one, nobody is wrong. Let e be eager, c compiled, g the fp64 gold and s
/// the samples of its noise. An element is decided if g and every s equal e; c must then be the
/// same. Otherwise it depends on rounding, and c may lie beyond all of them by at most twice their
/// span. Without that bound, bits of floats and indices could be anything. Elements computed from
/// integers alone are always decided. A cast that C++ does not define gives other results in g than
/// in s (workers/eager/gold.h), so its results are not decided.
struct Decisions {
  std::int64_t turning = 0;  ///< elements that differ where the golds do not decide
  std::int64_t beyond = 0;   ///< that differ where they do, or by more than the golds do
};

/// Nothing of floating numbers, without the gold or its samples, or where its dtype is not eager's.
std::optional<Decisions> decisions(const Comparison& comparison);

/// `decided`: nothing is beyond; without golds, nothing differs.
CheckResult check_decided(Comparison& comparison);

}  // namespace lockstep
