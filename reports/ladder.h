#pragma once

#include <string>

#include "record/ladder.h"
#include "reports/style.h"

namespace lockstep {

/// The ladder as the console shows it: the layers with how many instances diverge first on each,
/// and a line for each instance that diverges, with a sign for each layer; of many instances the
/// first fifty, or with `all` every one.  Empty where the run did not go down to the lowest layer,
/// or nothing diverges.
std::string ladder_text(const RunRecord& record, const Style& style, bool all);

/// For run.json: `layers`, lowest first, with `path`, `above` (or null) and `first`, the number of
/// instances that diverge first there; and `diverging`, for each instance that diverges `first`,
/// the layers on which it begins to, and `unknown`, layers below these of which nothing is known.
nlohmann::ordered_json ladder_json(const RunRecord& record);

}  // namespace lockstep
