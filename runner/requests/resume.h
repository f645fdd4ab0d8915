#pragma once

#include "record/record.h"
#include "requests/failure.h"
#include "requests/requests.h"

namespace lockstep {

/// A run that is to be gone on with.
struct Resumption {
  /// That of its log, and where it does not matter to its verdicts, what is asked now; `resume` is
  /// its directory.
  RunRequest request;
  RunRecord record;
};

/// Reads what `resume` of a request names.
Result<Resumption> read_resumption(const RunRequest& given);

}  // namespace lockstep
