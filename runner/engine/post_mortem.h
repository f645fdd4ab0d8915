#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/worker.h"
#include "wire/observation.h"

namespace lockstep {

/// How an execution ended that its worker has answered.
struct End {
  std::filesystem::path out;          ///< the directory of its observation
  HeldStorages held;                  ///< that its worker was told of
  std::string stage;                  ///< the last that the worker told
  bool killed = false;                ///< by the engine, since its clock had run out
  double limit = 0;                   ///< of that stage, seconds
  std::int64_t oom_kills_before = 0;  ///< `oom_kills` when it began
  WorkerMessage message;              ///< `ended`
};

/// The result of an execution that ended: its observation, or why there is none.
Observation observe_end(const End& end);

/// How many processes the kernel has killed for want of memory since it booted.
std::int64_t oom_kills();

/// The end of a text file, as UTF-8; empty where there is none.
std::string tail_of(const std::filesystem::path& file);

}  // namespace lockstep
