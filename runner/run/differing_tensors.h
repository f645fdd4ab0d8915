#pragma once

#include <filesystem>

#include "judge/judge.h"

namespace lockstep {

/// Writes what each output that does not conform was on every side, as
/// `directory/tensors/ID/OUTPUT.SIDE.npy` (SIDE is eager, compiled, or the name of a gold), and
/// notes the files in its outputs.  What is no tensor, or too large, is left out.
Result<void> save_tensors(const std::filesystem::path& directory, const std::string& id,
                          const JudgeRequest& request, Findings& found);

}  // namespace lockstep
