#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace lockstep {

/// A program to be run to its end, without a shell: no word of it is ever parsed.
struct Spawn {
  std::vector<std::string> argv;                                 ///< argv[0] is searched in PATH
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to our own
  std::filesystem::path input;                                   ///< empty: /dev/null
  std::filesystem::path output;                                  ///< made, or emptied
  std::filesystem::path errors;                                  ///< likewise; empty: ours
};

/// Waits for its end. If it cannot be started or does not exit with 0, the Error says how it ended,
/// with the end of `errors` (1,000 bytes at most, as one line).
Result<void> run_to_end(const Spawn& spawn);

}  // namespace lockstep
