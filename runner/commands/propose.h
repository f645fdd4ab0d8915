#pragma once

#include "base/result.h"
#include "record/record.h"

namespace lockstep {

/// The text of a file of expectations (expected/known) for a run's new failures: sorted, and the
/// same for the same verdicts. `existing` is the file so far: it stays, and nothing in it is
/// proposed again. Reasons are empty, and an empty reason is refused by every command:
/// someone has to write it.  Empty where there is nothing to propose.
Result<std::string> proposal(const RunRecord& record, const std::string& existing, bool crashes,
                             std::size_t& proposed);

/// Writes it to a file, or to standard output where that is "-"; of crashes and the like only where
/// `crashes`.
Result<void> propose(const RunRecord& record, const std::string& file, bool crashes);

}  // namespace lockstep
