#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "commands/options.h"
#include "commands/selection.h"
#include "explain/trials.h"
#include "plan/plan.h"
#include "run/session.h"

namespace lockstep {

/// Of several paths that the Python worker compiles for the lowest that is taken without being
/// asked for, else the first; null: none.
const PlanItem* compiled_item(const Plan& plan);

/// Why nothing is done where several instances are selected; `one` says of what it is, "a script is
/// of one".
Error several(const std::vector<Instance>& instances, const std::string& one);

/// A session that has met torch, and the one verdict that the command line asks about.
struct OneVerdict {
  Session session;
  Selection selection;
  Plan plan;  ///< of one instance, on the paths that were asked for
  std::size_t chosen = 0;

  const PlanItem& item() const { return plan.items[chosen]; }
};

/// Opens it; of several paths the one that compiled_item gives.  Errors are printed; then the
/// result is the exit status to end with.
tl::expected<OneVerdict, Exit> one_verdict(const Options& options, const std::string& one);

/// When `--seconds` are over, counted from now.
Trials::Clock::time_point deadline_of(const Options& options);

}  // namespace lockstep
