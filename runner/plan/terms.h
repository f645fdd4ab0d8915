#pragma once

#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace lockstep {

/// The names that filter terms may use, besides those of a PlanRequest.
struct TermContext {
  /// The words that a log may have, by the kind of the term; a kind that is not here takes any.
  LogWords said;
  /// Whether device and operator names, and the instances of sweeps, are final: torch was loaded,
  /// or none will be.  Else only what no torch changes is looked at.
  bool certain = true;
};

/// An error for each term of the filter that matches nothing at all, with the nearest name. Terms
/// of the level are not checked. Decodes cases until each operator
/// and each dtype was seen.
std::vector<Error> unmatched_terms(const PlanRequest& request, const TermContext& context);

}  // namespace lockstep
