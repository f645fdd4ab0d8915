#include "commands/workers.h"

#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "commands/home.h"
#include "record/machine.h"
#include "run/run.h"
#include "wire/request.h"

namespace lockstep {
namespace fs = std::filesystem;

fs::path compiled_worker_modules(const Options& options) {
  return fs::absolute(options.home) / "runner" / "workers" / "compiled";
}

WorkerSpec eager_worker(const Options& options, const fs::path& directory) {
  return {"eager",
          {{eager_executable(options).string(), "worker"}, {}, directory / "worker-eager.log"}};
}

WorkerSpec worker_for(const Path& path, const Options& options, const fs::path& directory,
                      const WorkerSpec& eager) {
  if (path.worker == "eager") {
    WorkerSpec spec = eager;
    spec.command.environment = path.environment;
    return spec;
  }
  if (path.worker == "compiled") {
    WorkerSpec spec{"compiled",
                    {{options.python, "-m", "lockstep_worker"},
                     path.environment,
                     directory / "worker-compiled.log"}};
    std::string modules = compiled_worker_modules(options).string();
    if (const char* existing = std::getenv("PYTHONPATH"); existing != nullptr && *existing != '\0')
      modules += std::string(":") + existing;
    spec.command.environment.emplace_back("PYTHONPATH", modules);
    return spec;
  }
  return {path.name,
          {path.command, path.environment, directory / ("worker-" + path.name + ".log")}};
}

Json hello_message(const Options& options, const std::vector<Path>& paths,
                   const fs::path& scratch) {
  const double memory = options.memory_gib > 0 ? options.memory_gib * (1 << 30)
                                               : static_cast<double>(physical_memory());
  const auto bytes = static_cast<std::int64_t>(memory);
  std::set<std::string> modules;
  for (const Path& path : paths) {
    for (const Json& module : path.declared.value("import", Json::array())) modules.insert(module);
  }
  HelloRequest hello{options.threads,
                     scratch,
                     std::nullopt,
                     bytes,
                     bytes,
                     options.libraries,
                     {modules.begin(), modules.end()}};
  if (!options.no_cache) hello.cache = fs::absolute(options.cache) / "inductor";
  return to_json(hello);
}

Result<Json> wait_for_hello(Executor& executor, const WorkerSpec& worker) {
  executor.warm_up(worker);
  while (executor.hello_of(worker) == nullptr) {
    if (const std::string failure = executor.failure_of(worker); !failure.empty()) {
      return fail(fmt::format("the {} worker cannot be used: {}", worker.name, failure),
                  "`ci/lockstep doctor` says what is amiss; `ci/lockstep check` works without it");
    }
    if (interrupted()) return fail("interrupted");
    executor.step(0.25);
  }
  return *executor.hello_of(worker);
}

}  // namespace lockstep
