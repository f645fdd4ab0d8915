#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "commands/options.h"
#include "commands/torches.h"

namespace lockstep {

/// One of the two runs that a gate compares.
struct GateSide {
  std::string word;                 ///< as it was given; empty: the latest run
  std::filesystem::path log;        ///< of its run, also of one that is to be made
  std::optional<FoundTorch> torch;  ///< which makes the run; empty: the run is there
};

struct GateSides {
  GateSide old, later;
  /// Where runs that are made go, and reports of the gate that nobody names a file for; empty: both
  /// runs are there.
  std::filesystem::path folder;
};

/// The two runs that a gate is asked for. Those that a torch is named for are made: what is chosen
/// is checked first, then an estimate is said, then torches are set up. A whole run in its place is
/// taken as it is, and one that ended early goes on.
Answer<GateSides> gate_sides(const GateOptions& options);

/// "core on both: about 12 min, of which 5 set-up; 3.1 GB of disk". `runs`: how many are to be
/// made, each in `run_seconds`, if somebody knows.
std::string estimate(const std::string& what, const std::vector<FoundTorch>& torches,
                     std::optional<double> run_seconds);

}  // namespace lockstep
