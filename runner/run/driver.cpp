#include "run/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "record/draw.h"
#include "run/absent_paths.h"
#include "run/scheduler.h"

namespace lockstep {
namespace {

SchedulerOptions scheduler_options(const RunSettings& settings, const DriverHooks& hooks) {
  SchedulerOptions options;
  options.workplace = settings.workplace;
  options.executions = std::max(1, settings.repeat);
  if (const std::optional<RepeatedPart>& part = settings.info.repeated_part) {
    options.executions = part->times;
    options.repeated = [drawn = *part](const std::string& id) {
      return is_drawn(drawn.seed, drawn.percent, id);
    };
  }
  if (settings.save_tensors) options.save_tensors = settings.directory;
  options.fresh_seed = settings.fresh_seed;
  options.retries = settings.retries;
  options.worth_retrying = hooks.worth_retrying;
  return options;
}

/// Starts the workers of the paths that have something to execute.
void warm_up(const Plan& plan, Engine& engine, const RunSettings& settings) {
  std::set<std::size_t> used;
  for (const PlanItem& item : plan.items) used.insert(item.path);
  for (const std::size_t path : used) {
    if (lacking_cpu_level(plan.paths[path], settings.workplace.cpu_levels).empty())
      engine.warm_up(settings.workplace.worker_of(plan.paths[path]));
  }
}

class LocalDriver : public Driver {
 public:
  LocalDriver(const Plan& plan, Engine& engine, const RunSettings& settings, std::vector<bool> skip,
              DriverHooks hooks)
      : plan_(plan),
        engine_(engine),
        requests_(settings.requests),
        stopped_(hooks.stopped),
        scheduler_(plan, engine, scheduler_options(settings, hooks), std::move(skip)) {
    scheduler_.on_note = std::move(hooks.on_note);
    scheduler_.on_verdict = std::move(hooks.on_verdict);
  }

  bool done() override { return requests_ ? requests_->ended() : scheduler_.done(); }
  Result<void> step() override {
    if (requests_) {
      auto items = requests_->take(plan_.items.size());
      if (!items) return tl::unexpected(items.error());
      scheduler_.add(*items);
    }
    scheduler_.advance();
    engine_.step(requests_ ? 0.1 : 1);  // requests do not wake an engine
    while (!stopped_() && scheduler_.hear()) {
    }
    return {};
  }
  std::vector<std::string> running() const override { return engine_.running_ids(); }
  std::vector<std::string> starting() const override { return engine_.starting(); }
  std::string report() const override { return engine_.report(); }

 private:
  const Plan& plan_;
  Engine& engine_;
  std::shared_ptr<ChunkRequests> requests_;
  std::function<bool()> stopped_;
  Scheduler scheduler_;
};

class ClusterDriver : public Driver {
 public:
  ClusterDriver(const Plan& plan, const RunSettings& settings, const Json& environment,
                const std::vector<bool>& skip, DriverHooks hooks)
      : dispatcher_(plan, settings.info, environment, settings.workplace.eager.name, skip,
                    settings.cluster->seconds) {
    dispatcher_.on_verdict = [hooks](Verdict verdict) {
      if (!hooks.stopped()) hooks.on_verdict(std::move(verdict));
    };
    dispatcher_.on_note = hooks.on_note;
    dispatcher_.on_environment = std::move(hooks.on_environment);
  }

  Result<void> connect(const ClusterOptions& options, const std::filesystem::path& directory) {
    if (dispatcher_.done()) return {};
    const std::filesystem::path said = directory / "worker-cluster.log";
    dispatcher_.on_note(fmt::format(
        "connecting with the cluster; the first time, this sets Dask up ({})", said.string()));
    auto cluster = Cluster::connect(options, said, dispatcher_);
    if (!cluster) return tl::unexpected(cluster.error());
    cluster_.emplace(std::move(*cluster));
    return {};
  }
  bool done() override { return dispatcher_.done(); }
  Result<void> step() override { return cluster_->step(0.25); }
  std::vector<std::string> running() const override { return dispatcher_.running(); }
  std::vector<std::string> starting() const override { return dispatcher_.starting(); }
  std::string report() const override { return dispatcher_.report(); }

 private:
  Dispatcher dispatcher_;
  std::optional<Cluster> cluster_;  ///< behind what it tells
};

}  // namespace

std::unique_ptr<Driver> drive_here(const Plan& plan, Engine& engine, const RunSettings& settings,
                                   std::vector<bool> skip, DriverHooks hooks) {
  if (std::find(skip.begin(), skip.end(), false) != skip.end()) warm_up(plan, engine, settings);
  if (settings.requests) skip.assign(skip.size(), true);
  return std::make_unique<LocalDriver>(plan, engine, settings, std::move(skip), std::move(hooks));
}

Result<std::unique_ptr<Driver>> drive_cluster(const Plan& plan, const RunSettings& settings,
                                              const Json& environment,
                                              const std::vector<bool>& skip, DriverHooks hooks) {
  auto driver =
      std::make_unique<ClusterDriver>(plan, settings, environment, skip, std::move(hooks));
  if (auto connected = driver->connect(*settings.cluster, settings.directory); !connected)
    return tl::unexpected(connected.error());
  return driver;
}

}  // namespace lockstep
