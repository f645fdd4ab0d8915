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
  /// What an earlier run says of each verdict's id, where the filter asks for it. With --ladder, a
  /// term that holds for an instance on one path holds for it on each.
  std::map<std::string, LogWords> earlier;
  std::vector<std::string> path_terms;  ///< of the level: those that keep instances from paths
  bool every_case = false;              ///< only paths and devices are chosen
};

/// How a choice is read.
struct Selecting {
  bool strict = false;            ///< what `status:failing` means
  bool executes = false;          ///< torch will start later, and may know more names
  const char* unasked = nullptr;  ///< the level where nothing is selected; null: `smoke`
};

/// The filter of a choice: SELECT, --path and --device, among the cases of the level. The level is
/// `smoke` if nothing is selected. Terms about verdicts read --from or the latest log.
/// Terms that match nothing are errors, all at once. Before torch has started, only terms that no
/// torch can change are checked. With --ladder, a verdict's id means its instance and its path.
Answer<Selection> selection(const Basis& basis, Session& session, const Selecting& rules = {});

/// The levels that the suite has, and `all`; sorted.
std::vector<std::string> level_names(const std::filesystem::path& suite);

/// What a level is for, in its own words; empty where nobody says.
std::string level_title(const std::filesystem::path& suite, const std::string& name);

/// The instances of a level, in the order of the suite, whatever else is selected.
Answer<std::vector<std::string>> ids_of_level(const Basis& basis, Session& session,
                                              const std::string& name);

/// Refuses terms that match nothing, now that torch has started.
Answer<void> check_terms(const PlanRequest& request);

/// What to say where terms that each mean something select nothing together.
tl::unexpected<Failure> nothing_selected(const PlanRequest& request);

/// The plan of the selection; an empty one is a failure.
Answer<Plan> plan_of(const PlanRequest& request);

}  // namespace lockstep
