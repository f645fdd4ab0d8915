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

/// The error if several instances are selected; `one` says what takes only one, "a script is of
/// one".
Error several(const std::vector<Instance>& instances, const std::string& one);

/// A plan of one instance, on the paths that were asked for, and the item of it that is meant.
struct OneVerdict {
  std::unique_ptr<Session> session;
  Selection selection;
  Plan plan;
  std::size_t chosen = 0;

  const PlanItem& item() const { return plan.items[chosen]; }
};

/// The one selected verdict of a session that has started torch; among several paths, compiled_item
/// chooses.
Answer<OneVerdict> prepare_one(const Basis& basis, const std::string& one, const Means& means = {});

/// The time that many seconds from now.
Trials::Clock::time_point deadline_in(double seconds);

}  // namespace lockstep
