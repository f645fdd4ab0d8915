#pragma once

#include <functional>
#include <vector>

#include "engine/engine.h"
#include "paths/path.h"
#include "record/record.h"

namespace lockstep {

/// Why the machine of the workers has no such CPU level as a path is to be executed at; empty: it
/// has, or it is not known which (`levels`, of the eager worker's `hello`, is empty).
std::string lacking_cpu_level(const Path& path, const std::vector<std::string>& levels);

/// Which of the paths cannot be used here, as their workers say: each that knows the mode
/// `configure` (design/protocol.md) is asked to put the path's settings in force, and those are
/// absent that are `unsupported` there.  Of a worker that cannot be used, dies over it or does not
/// know the mode nothing is said: the run shows what becomes of it.  No worker is started for those
/// whose CPU level is not among `cpu_levels`.  An interruption is an error.
Result<std::vector<AbsentPath>> find_absent_paths(
    Engine& engine, const std::vector<Path>& paths, const std::vector<std::string>& cpu_levels,
    const std::function<WorkerSpec(const Path&)>& worker_of);

}  // namespace lockstep
