#pragma once

#include "base/result.h"
#include "commands/options.h"
#include "record/record.h"

namespace lockstep {

/// The text of a file of expectations (expected/known) for what a run found new, sorted, and the
/// same for the same verdicts.  `existing` is what the file says already: it stays, and what it has
/// is not proposed again.  Reasons are empty, and an empty reason is refused by every command:
/// someone has to write it.  Empty where there is nothing to propose.
Result<std::string> proposal(const RunRecord& record, const std::string& existing, bool crashes,
                             std::size_t& proposed);

/// Writes it where --update-known says.
Result<void> propose(const RunRecord& record, const Options& options);

}  // namespace lockstep
