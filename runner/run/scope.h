#pragma once

#include "expectations/expectations.h"
#include "plan/plan.h"

namespace lockstep {

/// The instances and paths that a plan takes completely. For these, every expectation must match.
/// `whole_suite`: the plan takes every case there is.
ExpectationScope scope_of(const PlanRequest& request, const Plan& plan, bool whole_suite);

}  // namespace lockstep
