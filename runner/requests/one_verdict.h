#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "explain/trials.h"
#include "plan/plan.h"
#include "requests/prepare.h"
#include "run/session.h"

namespace lockstep {

/// Of several paths that the Python worker compiles for the lowest that is taken without being
/// asked for, else the first; null: none.
const PlanItem* compiled_item(const Plan& plan);

/// Why nothing is done where several instances are selected; `one` says of what it is, "a script is
/// of one".
Error several(const std::vector<Instance>& instances, const std::string& one);

/// A plan of one instance, on the paths that were asked for, and the item of it that is meant.
struct OneVerdict {
  std::unique_ptr<Session> session;
  Selection selection;
  Plan plan;
  std::size_t chosen = 0;

  const PlanItem& item() const { return plan.items[chosen]; }
};

/// The one verdict that is asked about, of a session that has met torch; of several paths the one
/// that compiled_item gives.
Answer<OneVerdict> prepare_one(const Basis& basis, const std::string& one, const Means& means = {});

/// When so many seconds are over, counted from now.
Trials::Clock::time_point deadline_in(double seconds);

}  // namespace lockstep
