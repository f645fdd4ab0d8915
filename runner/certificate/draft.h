#pragma once

#include "base/json.h"
#include "record/record.h"

namespace lockstep {

/// What a path file could declare by what a run found that its path refuses: the lists
/// `unsupported` and `refuses`, each entry with an empty `reason` for its author to fill in, and
/// `left`, the ids that neither covers.  An operator is unsupported where every instance of it
/// alone was refused, or every one of some dtypes; errors of one class are a rule of `refuses`.
Json draft_declarations(const RunRecord& run);

}  // namespace lockstep
