#pragma once

#include <string>
#include <utility>
#include <vector>

#include "record/tally.h"

namespace lockstep {

/// The tally of each path, in the order in which the run names them.
std::vector<std::pair<std::string, Tally>> tally_by_path(const RunRecord& record, bool strict);

/// How far results may be off besides the contracts of a run's paths, as their files declare it,
/// in a line for each: {"mine", "mm, bmm of float16 within rtol 0.01, atol 0.001: The unit adds in
/// halves."}.  Texts of a stranger, as they are.
std::vector<std::pair<std::string, std::string>> declared_tolerances(const RunInfo& run);

}  // namespace lockstep
