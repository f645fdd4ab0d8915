#include "run/absent_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "run/run.h"
#include "run/workers.h"
#include "wire/request.h"

namespace lockstep {
namespace {

constexpr const char* kMode = "configure";

bool knows_the_mode(const Json& hello) {
  const Json modes = hello.value("modes", Json::array());
  return std::find(modes.begin(), modes.end(), kMode) != modes.end();
}

/// Puts a path's settings in force, and executes nothing.
Json configure(const Path& path) {
  const Json nothing = {{"inputs", Json::array()},
                        {"steps", Json::array()},
                        {"outputs", Json::array()},
                        {"context", Json::object()},
                        {"backward", nullptr}};
  return to_json(ExecutionRequest{.path = path.declared,
                                  .device = "cpu",
                                  .mode = kMode,
                                  .program = nothing,
                                  .calls = Json::array()});
}

}  // namespace

std::string lacking_cpu_level(const Path& path, const std::vector<std::string>& levels) {
  const std::string& level = path.site.cpu_level;
  if (level.empty() || levels.empty() || contains(levels, level)) return "";
  return fmt::format("this machine has no CPU level {}: torch can compute at {} here", level,
                     enumerate(levels));
}

Result<std::vector<AbsentPath>> find_absent_paths(
    Engine& engine, const std::vector<Path>& paths, const std::vector<std::string>& cpu_levels,
    const std::function<WorkerSpec(const Path&)>& worker_of) {
  const auto absent = std::make_shared<std::vector<AbsentPath>>();
  std::vector<const Path*> possible;
  for (const Path& path : paths) {
    if (std::string reason = lacking_cpu_level(path, cpu_levels); !reason.empty()) {
      absent->push_back({path.name, std::move(reason)});
    } else {
      possible.push_back(&path);
      engine.warm_up(worker_of(path));
    }
  }
  for (const Path* each : possible) {
    const Path& path = *each;
    const WorkerSpec worker = worker_of(path);
    const auto hello = wait_for_hello(engine, worker);
    if (interrupted()) return fail("interrupted");
    if (!hello || !knows_the_mode(*hello)) continue;
    Job job;
    job.id = path.name + " (configure)";
    job.parts = {{worker, configure(path)}};
    job.done = [absent, name = path.name](const Observation& seen, double) {
      if (seen.outcome == Outcome::unsupported && seen.stage == "configure")
        absent->push_back({name, one_line(seen.reason)});
    };
    engine.submit(std::move(job));
  }
  while (!engine.idle()) {
    engine.step(0.25);
    if (!interrupted()) continue;
    engine.abandon();
    return fail("interrupted");
  }
  std::sort(absent->begin(), absent->end(),
            [](const AbsentPath& a, const AbsentPath& b) { return a.name < b.name; });
  return std::move(*absent);
}

}  // namespace lockstep
