#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "commands/options.h"

namespace lockstep {

/// What `python -m lockstep_worker WORD` answers to one question; `environment` is its path's.
/// Takes seconds, since it imports torch.
Result<nlohmann::ordered_json> ask_python_worker(
    const Options& options, const std::string& word, const nlohmann::ordered_json& question,
    const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace lockstep
