#include "commands/workers.h"

#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "commands/home.h"
#include "record/machine.h"
#include "run/run.h"

namespace lockstep {
namespace fs = std::filesystem;

fs::path compiled_worker_modules(const Options& options) {
  return fs::absolute(options.home) / "runner" / "workers" / "compiled";
}

WorkerSpec eager_worker(const Options& options) {
  return {"eager", {eager_executable(options).string(), "worker"}, {}};
}

WorkerSpec worker_for(const Path& path, const Options& options, const WorkerSpec& eager) {
  if (path.worker == "eager") {
    WorkerSpec spec = eager;
    spec.environment = path.environment;
    return spec;
  }
  if (path.worker == "compiled") {
    WorkerSpec spec{"compiled", {options.python, "-m", "lockstep_worker"}, path.environment};
    std::string modules = compiled_worker_modules(options).string();
    if (const char* existing = std::getenv("PYTHONPATH"); existing != nullptr && *existing != '\0')
      modules += std::string(":") + existing;
    spec.environment.emplace_back("PYTHONPATH", modules);
    return spec;
  }
  return {path.name, path.command, path.environment};
}

Json hello_message(const Options& options, const std::vector<Path>& paths) {
  const double memory = options.memory_gib > 0 ? options.memory_gib * (1 << 30)
                                               : static_cast<double>(physical_memory());
  const auto bytes = static_cast<std::int64_t>(memory);
  Json hello = {{"type", "hello"},
                {"protocol", 1},
                {"threads", options.threads},
                {"cache", nullptr},
                {"limits", {{"memory_bytes", bytes}, {"file_bytes", bytes}}},
                {"libraries", Json::array()}};
  std::set<std::string> modules;
  for (const Path& path : paths) {
    for (const Json& module : path.declared.value("import", Json::array())) modules.insert(module);
  }
  hello["modules"] = modules;
  for (const fs::path& library : options.libraries) hello["libraries"].push_back(library.string());
  if (!options.no_cache) hello["cache"] = (fs::absolute(options.cache) / "inductor").string();
  return hello;
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
