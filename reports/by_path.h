#pragma once

#include <string>
#include <utility>
#include <vector>

#include "record/tally.h"

namespace lockstep {

/// The tally of each path, in the order in which the run names them.
std::vector<std::pair<std::string, Tally>> tally_by_path(const RunRecord& record, bool strict);

}  // namespace lockstep
