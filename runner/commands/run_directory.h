#pragma once

#include <filesystem>
#include <string>

#include "commands/options.h"

namespace lockstep {

/// Makes the directory of a run, absolute: of the one that is resumed, or --out, or a new one below
/// the cache with the time `now` for a name.
Result<std::filesystem::path> run_directory(const Options& options, const std::string& now);

/// Lets `latest`, beside the directory, point at it.
void point_latest_at(const std::filesystem::path& directory);

}  // namespace lockstep
