#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "workers/eager/held.h"

namespace lockstep::eager {

/// Tells the runner which clock runs: "run", "write".
using StageListener = std::function<void(const std::string&)>;

/// Executes a `run` request and returns its observation; the storages are files in `folder` then.
/// What torch raises, or lacks, is in the observation.  Throws Malformed for a request that breaks
/// the protocol and std::exception if a file cannot be written.  `digests`: by which it tells what
/// the runner has already.
nlohmann::ordered_json execute(const nlohmann::json& request, const std::filesystem::path& folder,
                               const StageListener& on_stage, const DigestLibraries& digests = {});

}  // namespace lockstep::eager
