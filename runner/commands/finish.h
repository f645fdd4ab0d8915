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

/// Writes a run's reports, prints where they are and what is wrong, and returns the exit status.
Exit finish(const Finished& run);

}  // namespace lockstep
