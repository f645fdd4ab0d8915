#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "engine/engine.h"
#include "paths/path.h"
#include "run/session_settings.h"

namespace lockstep {

/// The folder that has the Python worker's package, lockstep_worker.
std::filesystem::path compiled_worker_modules(const SessionSettings& settings);

/// PYTHONPATH and its value, by which a Python finds that package.
std::pair<std::string, std::string> python_path(const SessionSettings& settings);

/// How lockstep-eager is started.
WorkerSpec eager_worker(const SessionSettings& settings);

/// The Python worker of torch.compile, as no path has changed it, in a process of its own.
WorkerSpec compiled_worker(const SessionSettings& settings);

/// The same; a resident one stands in for it where there is one.
WorkerSpec compiled_or_resident(const SessionSettings& settings);

/// The same worker at a CPU level of torch's (paths/cpu_level.h); empty: as it is.
WorkerSpec at_cpu_level(WorkerSpec worker, const std::string& level);

/// How the worker of a path is started. PYTHONPATH, LD_LIBRARY_PATH and PATH of the path's
/// `environment` are put in front of the worker's own.
WorkerSpec worker_of(const Path& path, const SessionSettings& settings);

/// The `hello` that every worker gets, but for what the engine adds; `paths` are those whose Python
/// modules it should record.
Json hello_message(const SessionSettings& settings, const std::vector<Path>& paths);

/// Waits for a worker's hello.  Its failure and an interruption are errors.
Result<Json> wait_for_hello(Engine& engine, const WorkerSpec& worker);

}  // namespace lockstep
