#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace lockstep {

/// Refuses an --out that has a run already, for a log is never overwritten; before anything starts.
Result<void> check_out(const std::filesystem::path& out);

/// Makes a directory below `parent`, absolute: the time `now` for a name, and a number where there
/// are several in one second.
Result<std::filesystem::path> new_directory(const std::filesystem::path& parent,
                                            const std::string& now);

/// Makes the directory of a run, absolute: `given`, or where that is empty a new one in
/// `runs` with the time `now` for a name.
Result<std::filesystem::path> run_directory(const std::filesystem::path& given,
                                            const std::filesystem::path& runs,
                                            const std::string& now);

/// Lets `latest`, beside the directory, point at it.
void point_latest_at(const std::filesystem::path& directory);

}  // namespace lockstep
