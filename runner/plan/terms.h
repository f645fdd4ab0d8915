#pragma once

#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace lockstep {

/// What the terms of a filter can mean besides what a PlanRequest says.
struct TermContext {
  /// The words that a log may have, by the kind of the term; a kind that is not here takes any.
  LogWords said;
  /// Whether device and operator names, and the instances of sweeps, are final: torch was loaded,
  /// or none will be.  Else only what no torch changes is looked at.
  bool certain = true;
};

/// An error for each term of the filter that means nothing of all that there is, whatever the other
/// terms say, with the nearest name; without those of the level.  Decodes cases until each operator
/// and each dtype was seen.
std::vector<Error> unmatched_terms(const PlanRequest& request, const TermContext& context);

}  // namespace lockstep
