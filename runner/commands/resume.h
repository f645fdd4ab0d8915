#pragma once

#include "commands/options.h"
#include "record/log.h"

namespace lockstep {

/// A run that is to be gone on with.
struct Resumption {
  /// Those of its log, and where they do not matter to its verdicts, the ones given now; `resume`
  /// is its directory.
  Options options;
  RunRecord record;
};

/// Reads what --resume names.
Result<Resumption> read_resumption(const Options& given);

}  // namespace lockstep
