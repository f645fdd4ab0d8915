#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "record/record.h"

namespace lockstep {

/// run.json: everything in the log as one document, with its tally.  Format 1: keys may be added,
/// none changes its meaning (docs/reference/log.md).
nlohmann::ordered_json run_document(const RunRecord& record);

/// The two parts of it, for all verdicts of a run together are much memory: all but `verdicts`, and
/// one of these.
nlohmann::ordered_json run_frame(const RunRecord& record);
nlohmann::ordered_json verdict_document(const Verdict& verdict);

/// The same as text: a line for each verdict, so that two runs can be compared by line.
std::string run_json(const RunRecord& record);

}  // namespace lockstep
