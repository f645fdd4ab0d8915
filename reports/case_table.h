#pragma once

#include <string>

#include "record/record.h"

namespace lockstep {

/// The cases of a run in Markdown, one line each: title and report, tags, operators, where the
/// compiler departs from eager, and what every path did that does not conform.  "Departs at" is the
/// first of the paths `eager`, `aot_eager` and `inductor`, each of which adds a layer of the
/// compiler, with a verdict that is a failure or known.  Nothing in it depends on times or on the
/// order in which verdicts came: equal verdicts give equal bytes.
std::string case_table(const RunRecord& record);

}  // namespace lockstep
