#pragma once

#include <vector>

#include "verdict/verdict.h"

namespace lockstep {

/// One verdict for several executions of the same item (`--repeat`, `--retries`): the worst of
/// them, with how often each status was found.  Where they disagree, in status or in numbers, it is
/// `unstable`, and where the statuses differ the reason begins with how many had which.  There is
/// at least one.
Verdict combine(std::vector<Verdict> rounds);

}  // namespace lockstep
