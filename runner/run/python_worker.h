#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "base/spawn.h"
#include "engine/engine.h"

namespace lockstep {

/// How a Python worker is started for one question, which it reads from a file: `WORKER WORD`.
/// Takes seconds where no resident one stands in for it, since it imports torch.
Spawn questioning(const WorkerSpec& worker, const std::string& word,
                  const std::filesystem::path& question, const std::filesystem::path& answer,
                  const std::filesystem::path& errors);

/// What it answers, where that is JSON.
Result<nlohmann::ordered_json> ask_python_worker(const WorkerSpec& worker, const std::string& word,
                                                 const nlohmann::ordered_json& question);

}  // namespace lockstep
