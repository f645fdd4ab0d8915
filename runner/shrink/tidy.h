#pragma once

#include "cases/case.h"
#include "cases/registry.h"

namespace lockstep {

/// Removes what nothing depends on: steps without a used result or a write, unused names of
/// results, inputs and literal tensors, and policies and gradients of removed values. What is left
/// is a case that `check` accepts, if there were no other faults.
/// False where nothing is left to execute.
bool tidy(Case& declared, const Registry* registry);

}  // namespace lockstep
