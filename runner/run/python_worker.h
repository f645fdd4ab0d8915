#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace lockstep {

/// What `PYTHON -m lockstep_worker WORD` answers to one question; `environment` is its path's.
/// Takes seconds, since it imports torch.
Result<nlohmann::ordered_json> ask_python_worker(
    const std::string& python, const std::string& word, const nlohmann::ordered_json& question,
    const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace lockstep
