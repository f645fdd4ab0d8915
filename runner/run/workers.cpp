#include "run/workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/launcher.h"
#include "base/text.h"
#include "engine/warm.h"
#include "paths/cpu_level.h"
#include "record/machine.h"
#include "run/run.h"
#include "wire/request.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Variables that hold a list of folders, separated by colons.
const std::vector<std::string> kLists = {"PYTHONPATH", "LD_LIBRARY_PATH", "PATH"};

/// A variable that holds a list, with `folders` before those that it has in `environment`, or else
/// in our own.
std::pair<std::string, std::string> in_front(
    const std::string& name, const std::string& folders,
    const std::vector<std::pair<std::string, std::string>>& environment) {
  const auto set = std::find_if(environment.begin(), environment.end(),
                                [&](const auto& each) { return each.first == name; });
  const char* const inherited = std::getenv(name.c_str());
  const std::string rest = set != environment.end() ? set->second
                           : inherited != nullptr   ? inherited
                                                    : "";
  // An empty entry would mean the working directory.
  if (folders.empty() || rest.empty()) return {name, folders + rest};
  return {name, folders + ":" + rest};
}

/// Has malloc ask for huge pages.  A worker forks for each execution, and the table of pages of a
/// process that has imported torch is most of what that costs.  Who has tuned malloc keeps that.
std::vector<std::pair<std::string, std::string>> huge_pages() {
  if (std::getenv("GLIBC_TUNABLES") != nullptr) return {};
  return {{"GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"}};
}

}  // namespace

fs::path compiled_worker_modules(const SessionSettings& settings) {
  // By one name, whatever links lead there: a resident worker stands in for workers of that name.
  return fs::weakly_canonical(settings.home / "runner" / "workers" / "compiled");
}

WorkerSpec eager_worker(const SessionSettings& settings) {
  WorkerSpec spec{"eager", {settings.eager.string(), "worker"}, huge_pages()};
  if (settings.eager_batch > 1) spec.argv.push_back(std::to_string(settings.eager_batch));
  return spec;
}

WorkerSpec compiled_worker(const SessionSettings& settings) {
  WorkerSpec spec{"compiled", {settings.python, "-m", std::string(kModule)}, huge_pages()};
  spec.environment.push_back(python_path(settings));
  return spec;
}

WorkerSpec compiled_or_resident(const SessionSettings& settings) {
  WorkerSpec spec = compiled_worker(settings);
  if (!settings.residents.empty()) spec.argv = attaching(settings.residents, spec.argv);
  return spec;
}

std::pair<std::string, std::string> python_path(const SessionSettings& settings) {
  return in_front("PYTHONPATH", compiled_worker_modules(settings).string(), {});
}

WorkerSpec at_cpu_level(WorkerSpec worker, const std::string& level) {
  if (level.empty()) return worker;
  worker.name += "." + level;
  worker.cpu_level = level;
  for (auto& variable : environment_of_cpu_level(level))
    worker.environment.push_back(std::move(variable));
  return worker;
}

WorkerSpec worker_of(const Path& path, const SessionSettings& settings) {
  WorkerSpec spec{path.name, path.command, {}};
  if (path.worker == "eager" || (path.packages && !settings.saved_jobs.empty())) {
    spec = eager_worker(settings);  // of a package that is there already nobody makes another one
  } else if (path.worker == "compiled") {
    spec = compiled_or_resident(settings);
  }
  for (const auto& [name, value] : path.environment) {
    auto added =
        contains(kLists, name) ? in_front(name, value, spec.environment) : std::pair{name, value};
    std::erase_if(spec.environment, [&](const auto& each) { return each.first == added.first; });
    spec.environment.push_back(std::move(added));
  }
  spec.cpu_level = path.site.cpu_level;
  if (path.command.empty() && !spec.cpu_level.empty()) spec.name += "." + spec.cpu_level;
  return spec;
}

Json hello_message(const SessionSettings& settings, const std::vector<Path>& paths) {
  const std::int64_t bytes = settings.pace.memory_bytes() > 0
                                 ? settings.pace.memory_bytes()
                                 : static_cast<std::int64_t>(physical_memory());
  std::set<std::string> modules;
  for (const Path& path : paths) {
    for (const Json& module : path.declared.value("import", Json::array())) modules.insert(module);
  }
  HelloRequest hello{settings.pace.threads,
                     std::nullopt,
                     bytes,
                     bytes,
                     settings.files.libraries,
                     {modules.begin(), modules.end()},
                     settings.files.modules,
                     settings.digests};
  if (!settings.compiler_cache.empty()) hello.cache = settings.compiler_cache;
  return to_json(hello);
}

Result<Json> wait_for_hello(Engine& engine, const WorkerSpec& worker) {
  engine.warm_up(worker);
  while (engine.hello_of(worker) == nullptr) {
    if (const std::string failure = engine.failure_of(worker); !failure.empty()) {
      return fail(fmt::format("the {} worker cannot be used: {}", worker.name, failure),
                  typed("doctor") + " says what is amiss; " + typed("check") + " works without it");
    }
    if (interrupted()) return fail("interrupted");
    engine.step(0.25);
  }
  return *engine.hello_of(worker);
}

}  // namespace lockstep
