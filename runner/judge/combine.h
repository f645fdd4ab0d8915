#pragma once

#include <cstddef>
#include <vector>

#include "verdict/verdict.h"

namespace lockstep {

/// What several executions of the same item found, as one finding.
struct Combined {
  Findings found;
  std::size_t worst;  ///< of the executions, which one it is about
};

/// One finding for several executions of the same item (`--repeat`, `--retries`): the worst of
/// them, with how often each status was found.  Where they disagree, in status or in numbers, it is
/// `unstable`, and where the statuses differ the reason begins with how many had which.  There is
/// at least one.
Combined combine(std::vector<Findings> rounds);

}  // namespace lockstep
