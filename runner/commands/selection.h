#pragma once

#include <map>
#include <string>
#include <vector>

#include "commands/options.h"
#include "plan/plan.h"

namespace lockstep {

/// The filter that the command line means: SELECT, --path and --device, of what the level takes,
/// which is `smoke` where nothing is selected.  `level` gets its name, or stays empty.  A path that
/// is none of `paths` is an error.  With --ladder, a verdict's id means its instance and its path.
tl::expected<Filter, Exit> selection(const Options& options, const std::vector<Path>& paths,
                                     std::string& level);

/// What an earlier run says of each verdict, for `status:` terms: status, standing, `failing`,
/// `departing`.  With --ladder what it says of an instance on any path is said of it on each.
using EarlierStatuses = std::map<std::string, std::vector<std::string>>;

/// Read from --from or the latest log where the filter asks for statuses; else empty.  `paths` are
/// all that there are.
tl::expected<EarlierStatuses, Exit> earlier_statuses(const Options& options, const Filter& filter,
                                                     const std::vector<Path>& paths);

/// Says that nothing was selected, with the nearest id, and gives the exit status.
Exit nothing_selected(const PlanRequest& request);

}  // namespace lockstep
