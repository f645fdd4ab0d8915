#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace lockstep {

/// Of several paths that the Python worker compiles for `inductor`, else the first; null: none.
const PlanItem* compiled_item(const Plan& plan);

/// Why nothing is done where several instances are selected; `one` says of what it is, "a script is
/// of one".
Error several(const std::vector<Instance>& instances, const std::string& one);

}  // namespace lockstep
