#pragma once

#include <filesystem>

#include "judge/judge.h"

namespace lockstep {

/// Writes each output that does not conform, from every side, as
/// `directory/tensors/ID/OUTPUT.SIDE.npy`, and notes the files in the finding. SIDE is eager,
/// compiled, or the name of a gold. What is no tensor, or too large, is left out.
Result<void> save_tensors(const std::filesystem::path& directory, const std::string& id,
                          const JudgeRequest& request, Findings& found);

}  // namespace lockstep
