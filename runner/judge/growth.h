#pragma once

#include <vector>

#include "verdict/verdict.h"

namespace lockstep {

/// How far both executions of a case are from eager, call by call: running `free`, and each call
/// `restarted` from eager's state.  Outputs that differ in one of them.
std::vector<Growth> growth_of(const Findings& free, const Findings& restarted);

}  // namespace lockstep
