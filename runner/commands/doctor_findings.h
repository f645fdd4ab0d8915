#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "paths/path.h"

namespace lockstep {

/// How a thing is.
enum class Health {
  good,
  absent,  ///< it cannot be used here, or is not made yet, and nothing needs it
  poor,    ///< to be looked at
  bad,     ///< to mend before a run
};

/// What a doctor says of one thing.
struct DoctorFinding {
  Health health = Health::good;
  std::string subject, finding;
  std::string remedy;  ///< what to do about it; empty: nothing need be done
};

/// What is known of a path that was asked about.
struct PathState {
  std::string failure;  ///< why its worker cannot be used; empty: it can, or was not needed
  std::string
      absent;  ///< why its settings cannot be put in force here (absent_paths.h); empty: they can
};

/// Whether a path can be used here, and on which devices; else the reason and the remedy. `devices`
/// are those that torch has.
DoctorFinding finding_of_path(const Path& path, const PathState& state,
                              const std::vector<std::string>& devices);

/// Describes each device that torch has. For a device that the machine or a path names and torch
/// lacks, says why. `hello` is the eager worker's, `machine` what add_cuda
/// (record/machine.h) says.
std::vector<DoctorFinding> findings_of_devices(const Json& hello, const Json& machine,
                                               const std::vector<Path>& paths);

}  // namespace lockstep
