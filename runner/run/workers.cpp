#include "run/workers.h"

#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "record/machine.h"
#include "run/run.h"
#include "wire/request.h"

namespace lockstep {
namespace fs = std::filesystem;

fs::path compiled_worker_modules(const SessionSettings& settings) {
  return fs::absolute(settings.root) / "runner" / "workers" / "compiled";
}

WorkerSpec eager_worker(const SessionSettings& settings) {
  return {"eager", {settings.eager.string(), "worker"}, {}};
}

WorkerSpec worker_of(const Path& path, const SessionSettings& settings) {
  if (path.worker == "eager") {
    WorkerSpec spec = eager_worker(settings);
    spec.environment = path.environment;
    return spec;
  }
  if (path.worker == "compiled") {
    WorkerSpec spec{"compiled", {settings.python, "-m", "lockstep_worker"}, path.environment};
    std::string modules = compiled_worker_modules(settings).string();
    if (const char* existing = std::getenv("PYTHONPATH"); existing != nullptr && *existing != '\0')
      modules += std::string(":") + existing;
    spec.environment.emplace_back("PYTHONPATH", modules);
    return spec;
  }
  return {path.name, path.command, path.environment};
}

Json hello_message(const SessionSettings& settings, const std::vector<Path>& paths) {
  const std::int64_t bytes = settings.memory_bytes > 0
                                 ? settings.memory_bytes
                                 : static_cast<std::int64_t>(physical_memory());
  std::set<std::string> modules;
  for (const Path& path : paths) {
    for (const Json& module : path.declared.value("import", Json::array())) modules.insert(module);
  }
  HelloRequest hello{settings.threads,
                     std::nullopt,
                     bytes,
                     bytes,
                     settings.libraries,
                     {modules.begin(), modules.end()}};
  if (!settings.compiler_cache.empty()) hello.cache = settings.compiler_cache;
  return to_json(hello);
}

Result<Json> wait_for_hello(Engine& engine, const WorkerSpec& worker) {
  engine.warm_up(worker);
  while (engine.hello_of(worker) == nullptr) {
    if (const std::string failure = engine.failure_of(worker); !failure.empty()) {
      return fail(fmt::format("the {} worker cannot be used: {}", worker.name, failure),
                  "`ci/lockstep doctor` says what is amiss; `ci/lockstep check` works without it");
    }
    if (interrupted()) return fail("interrupted");
    engine.step(0.25);
  }
  return *engine.hello_of(worker);
}

}  // namespace lockstep
