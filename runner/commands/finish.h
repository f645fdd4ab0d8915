#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "paths/path.h"
#include "record/record.h"
#include "requests/failure.h"
#include "requests/requests.h"

namespace lockstep {

/// A run that is over, and what was asked of it.
struct Finished {
  const RunRecord& record;
  const Reporting& reporting;
  const Surroundings& at;
  std::filesystem::path directory;
  std::vector<Path> paths = {};               ///< of its plan
  std::vector<std::string> named_paths = {};  ///< those that were asked for by name
};

/// Writes all that a run leaves, says where it is and what is amiss, and gives the exit status.
Exit finish(const Finished& run);

}  // namespace lockstep
