#pragma once

#include "cases/case.h"
#include "cases/registry.h"

namespace lockstep {

/// Takes out of a case what nothing hangs on: steps whose results nobody uses and that write to
/// nothing, names of results that are not used, inputs, literal tensors, policies and gradients of
/// what is gone.  What is left is a case that `check` accepts, if there were no other faults.
/// False where nothing is left to execute.
bool tidy(Case& declared, const Registry* registry);

}  // namespace lockstep
