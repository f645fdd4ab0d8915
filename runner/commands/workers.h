#pragma once

#include <filesystem>

#include "commands/options.h"
#include "engine/executor.h"
#include "paths/path.h"

namespace lockstep {

/// How lockstep-eager is started; what it says on standard error goes to a file in `directory`.
WorkerSpec eager_worker(const Options& options, const std::filesystem::path& directory);

/// The folder that has the Python worker's package, lockstep_worker.
std::filesystem::path compiled_worker_modules(const Options& options);

/// How the worker of a path is started.
WorkerSpec worker_for(const Path& path, const Options& options,
                      const std::filesystem::path& directory, const WorkerSpec& eager);

/// The `hello` that every worker gets; `paths` are those whose Python modules it should record.
Json hello_message(const Options& options, const std::vector<Path>& paths,
                   const std::filesystem::path& scratch);

/// Waits for a worker's hello.  Its failure and an interruption are errors.
Result<Json> wait_for_hello(Executor& executor, const WorkerSpec& worker);

}  // namespace lockstep
