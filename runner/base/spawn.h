#pragma once

#include <cstddef>
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
  int output_to = -1;  ///< a descriptor of ours that gets what is printed, instead of `output`
  std::filesystem::path directory = {};  ///< where it runs; empty: where we are
};

/// Waits for its end; the exit status, and 128 and the signal's number where a signal ended it. An
/// Error where it cannot be started.
Result<int> exit_status_of(const Spawn& spawn);

/// What it prints, of at most `most` bytes, where it exits with 0; else its exit status.
struct Printed {
  int status = 0;
  std::string text;
};
Result<Printed> printed_by(Spawn spawn, std::size_t most);

/// Waits for its end. If it cannot be started or does not exit with 0, the Error says how it ended,
/// with the end of `errors` (1,000 bytes at most, as one line).
Result<void> run_to_end(const Spawn& spawn);

}  // namespace lockstep
