#pragma once

#include <filesystem>
#include <vector>

#include "commands/options.h"
#include "paths/path.h"
#include "record/record.h"

namespace lockstep {

/// Writes all that a run leaves, says where it is and what is amiss, and gives the exit status.
Exit finish(const RunRecord& record, const Options& options, const std::filesystem::path& directory,
            const std::vector<Path>& paths);

}  // namespace lockstep
