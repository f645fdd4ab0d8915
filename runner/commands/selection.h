#pragma once

#include <string>
#include <vector>

#include "commands/options.h"
#include "plan/plan.h"
#include "run/session.h"

namespace lockstep {

/// What the command line selects.
struct Selection {
  Filter filter;
  std::string level;  ///< empty: of every case
  /// What an earlier run says of each verdict's id, where the filter asks for it.  With --ladder
  /// what it says of an instance on any path is said of it on each.
  std::map<std::string, LogWords> earlier;
  std::vector<std::string> path_terms;  ///< of the level: those that keep instances from paths
  bool every_case = false;              ///< only paths and devices are chosen
};

/// The filter that the command line means: SELECT, --path and --device, of what the level takes,
/// which is `smoke` where nothing is selected.  Terms about verdicts read --from or the latest log.
/// Terms that mean nothing are errors, all at once; before `run` met torch only those that no torch
/// changes.  With --ladder, a verdict's id means its instance and its path.
tl::expected<Selection, Exit> selection(const Options& options, Session& session);

/// The levels that the suite has, and `all`; sorted.
std::vector<std::string> level_names(const Options& options);

/// What a level is for, in its own words; empty where nobody says.
std::string level_title(const Options& options, const std::string& name);

/// The instances that a level takes, in the order of the suite, whatever else the command line
/// selects.
tl::expected<std::vector<std::string>, Exit> ids_of_level(const Options& options, Session& session,
                                                          const std::string& name);

/// Prints the terms that mean nothing, now that torch was met.
tl::expected<void, Exit> check_terms(const PlanRequest& request);

/// Says that terms that each mean something select nothing together, and gives the exit status.
Exit nothing_selected(const PlanRequest& request);

}  // namespace lockstep
