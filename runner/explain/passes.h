#pragma once

#include <filesystem>

#include "explain/knobs.h"
#include "explain/operators.h"

namespace lockstep {

/// Finds the application of a pass or lowering that is to blame, with torch's own bisector
/// (torch._inductor.compiler_bisector). Files in `scratch` tell the bisector what to leave out.
/// `tables` are the parts of the backends that it knows.  Something is written into `why` where
/// nothing was found.
ExplainedPass find_pass(const Suspect& suspect, const std::vector<BisectedBackend>& tables,
                        const std::filesystem::path& scratch, Trials& trials);

}  // namespace lockstep
