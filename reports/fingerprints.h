#pragma once

#include <string>

#include "record/fingerprints.h"
#include "reports/style.h"

namespace lockstep {

/// Fingerprints as the console shows them, most failing verdicts first, each with its numbers and
/// its smallest example: of those that several verdicts fail of the first twenty, and how many more
/// there are, for what one verdict fails of is told there; with `all` every fingerprint of every
/// verdict. Empty where there is none to show.
std::string fingerprints_text(const RunRecord& record, const Style& style, bool strict, bool all);

/// "6 failing, 2 others; float16, float32; inductor, begins there; eager nearer to fp64 in 4".
std::string describe(const FingerprintGroup& group);

/// For run.json: for each fingerprint `name`, `verdicts` and `failing` (numbers), `dtypes`,
/// `paths`, `begins`, `grade`, `nearer` and `example`, the id of a verdict.
nlohmann::ordered_json fingerprints_json(const RunRecord& record, bool strict);

}  // namespace lockstep
