#pragma once

#include <string>

#include "record/ladder.h"
#include "reports/style.h"

namespace lockstep {

/// The ladder as the console shows it: the rungs with how many instances depart first on each, and
/// a line for each instance that departs, with a sign for each rung; of many instances the first
/// fifty, or with `all` every one.  Empty where the run did not go down to the lowest rung, or
/// nothing departs.
std::string ladder_text(const RunRecord& record, const Style& style, bool all);

/// For run.json: `rungs`, lowest first, with `path`, `above` (or null) and `first`, the number of
/// instances that depart first there; and `departing`, for each instance that departs `first`, the
/// rungs on which it begins to, and `unknown`, rungs below these of which nothing is known.
nlohmann::ordered_json ladder_json(const RunRecord& record);

}  // namespace lockstep
