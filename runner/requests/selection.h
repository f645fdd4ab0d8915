#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"
#include "requests/failure.h"
#include "requests/requests.h"
#include "run/session.h"

namespace lockstep {

/// What a request selects.
struct Selection {
  Filter filter;
  std::string level;  ///< empty: of every case
  /// What an earlier run says of each verdict's id, where the filter asks for it.  With --ladder
  /// what it says of an instance on any path is said of it on each.
  std::map<std::string, LogWords> earlier;
  std::vector<std::string> path_terms;  ///< of the level: those that keep instances from paths
  bool every_case = false;              ///< only paths and devices are chosen
};

/// How a choice is read.
struct Selecting {
  bool strict = false;            ///< what `status:failing` means
  bool executes = false;          ///< torch will be met, and may know more names
  const char* unasked = nullptr;  ///< the level where nothing is selected; null: `smoke`
};

/// The filter that a choice means: SELECT, --path and --device, of what the level takes,
/// which is `smoke` where nothing is selected.  Terms about verdicts read --from or the latest log.
/// Terms that mean nothing are errors, all at once; before `run` met torch only those that no torch
/// changes.  With --ladder, a verdict's id means its instance and its path.
Answer<Selection> selection(const Basis& basis, Session& session, const Selecting& rules = {});

/// The levels that the suite has, and `all`; sorted.
std::vector<std::string> level_names(const std::filesystem::path& suite);

/// What a level is for, in its own words; empty where nobody says.
std::string level_title(const std::filesystem::path& suite, const std::string& name);

/// The instances that a level takes, in the order of the suite, whatever else is chosen.
Answer<std::vector<std::string>> ids_of_level(const Basis& basis, Session& session,
                                              const std::string& name);

/// Refuses terms that mean nothing, now that torch was met.
Answer<void> check_terms(const PlanRequest& request);

/// What to say where terms that each mean something select nothing together.
tl::unexpected<Failure> nothing_selected(const PlanRequest& request);

/// The plan of what is selected; one of nothing is a failure.
Answer<Plan> plan_of(const PlanRequest& request);

}  // namespace lockstep
