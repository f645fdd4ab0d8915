#pragma once

#include <filesystem>

#include "commands/options.h"
#include "engine/engine.h"
#include "paths/path.h"

namespace lockstep {

/// How lockstep-eager is started.
WorkerSpec eager_worker(const Options& options);

/// The folder that has the Python worker's package, lockstep_worker.
std::filesystem::path compiled_worker_modules(const Options& options);

/// How the worker of a path is started.
WorkerSpec worker_for(const Path& path, const Options& options, const WorkerSpec& eager);

/// The `hello` that every worker gets; `paths` are those whose Python modules it should record.
Json hello_message(const Options& options, const std::vector<Path>& paths);

/// Waits for a worker's hello.  Its failure and an interruption are errors.
Result<Json> wait_for_hello(Engine& engine, const WorkerSpec& worker);

}  // namespace lockstep
