#pragma once

#include "judge/numerics/compare.h"

namespace lockstep {

/// Whether the rule of a policy holds, whatever the positions of NaN and infinity.
using Check = CheckResult (*)(Comparison& comparison, const Policy& policy);

/// The check of a kind of policy.  The table in checks.cpp has one for each.
Check check_of(Policy::Kind kind);

}  // namespace lockstep
