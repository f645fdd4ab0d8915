#pragma once

#include <filesystem>

#include "explain/knobs.h"
#include "explain/operators.h"

namespace lockstep {

/// Which application of which pass or lowering it takes, by torch's own bisector
/// (torch._inductor.compiler_bisector), which is told by files in `scratch` what to leave out.
/// `tables` are the parts of the backends that it knows.  Something is written into `why` where
/// nothing was found.
ExplainedPass find_pass(const Suspect& suspect, const std::vector<BisectedBackend>& tables,
                        const std::filesystem::path& scratch, Trials& trials);

}  // namespace lockstep
