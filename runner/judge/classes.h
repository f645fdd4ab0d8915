#pragma once

#include <string>

#include "judge/statistics.h"
#include "judge/verdict.h"

namespace lockstep {

/// In which ways the elements of the walk's first two views differ, both of that floating or
/// complex dtype.  A pass of its own, made only where something differs.
DifferenceClasses difference_classes(const JointWalk& walk, const Dtype& dtype,
                                     const PassOptions& options = {});

/// "12 NaN, 3 infinity, 1,040 last bits"; empty where nothing differs.
std::string describe(const DifferenceClasses& classes);

}  // namespace lockstep
