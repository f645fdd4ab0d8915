#pragma once

#include "expectations/expectations.h"
#include "plan/plan.h"

namespace lockstep {

/// Which of the suite's instances a plan takes whole, on which paths: of these every expectation
/// must be met.  `whole_suite`: the plan takes every case there is.
ExpectationScope scope_of(const PlanRequest& request, const Plan& plan, bool whole_suite);

}  // namespace lockstep
