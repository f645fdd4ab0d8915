#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "paths/path.h"

namespace lockstep {

/// Where jobs are executed, and by whom: what a session, its runs and their schedulers share.
struct Workplace {
  std::size_t jobs = 1;           ///< executions at a time; as many threads judge
  std::filesystem::path scratch;  ///< of what is executed
  WorkerSpec eager;
  std::function<WorkerSpec(const Path&)> worker_of;
  std::vector<std::string> cpu_levels;  ///< of the machine, as torch names them; empty: not known
  std::string torch;                    ///< version of the reference, for `requires`
  int threads = 1;                      ///< of an execution that asks for no number of them
};

}  // namespace lockstep
