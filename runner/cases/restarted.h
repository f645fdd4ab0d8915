#pragma once

#include <optional>

#include "cases/case.h"
#include "wire/observation.h"

namespace lockstep {

/// A case that hands values from call to call, with each call given what eager handed over in its
/// place: one step at a time, so that errors do not grow. Nothing: it hands over no tensors, or
/// eager did not return.
std::optional<Case> restarted_case(const Case& declared, const Observation& eager);

}  // namespace lockstep
