#include "run/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "plan/case_facts.h"
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
  options.stays_alone = hooks.stays_alone;
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
    scheduler_.on_environment = std::move(hooks.on_environment);
    scheduler_.on_verdict = std::move(hooks.on_verdict);
  }

  bool done() override { return requests_ ? requests_->ended() : scheduler_.done(); }
  Result<void> step() override {
    if (auto taken = take_requests(); !taken) return taken;
    scheduler_.advance();
    engine_.step(requests_ ? 0.1 : 1);  // requests do not wake an engine
    while (!stopped_() && scheduler_.hear()) {
    }
    return {};
  }
  void finish() override { scheduler_.dismiss_workers(); }
  std::vector<std::string> running() const override { return engine_.running_ids(); }
  std::vector<std::string> starting() const override { return engine_.starting(); }
  std::string report() const override { return engine_.report(); }

 private:
  /// Of a member: takes the items of the requests that have come.
  Result<void> take_requests() {
    if (!requests_) return {};
    requests_->read(0);
    while (true) {
      const auto request = requests_->next();
      if (!request) return tl::unexpected(request.error());
      if (!*request) return {};
      std::vector<std::size_t> items;
      for (const Json& place : (*request)->value("places", Json::array())) {
        const auto item =
            place.is_number_unsigned() ? item_at(plan_, place.get<std::size_t>()) : std::nullopt;
        if (!item)
          return fail(fmt::format("found the place {}, expected one of a plan of {}",
                                  one_line(place.dump(), 60), plan_.items.size()));
        items.push_back(*item);
      }
      scheduler_.add(items);
    }
  }

  const Plan& plan_;
  Engine& engine_;
  std::shared_ptr<JsonLines> requests_;
  std::function<bool()> stopped_;
  Scheduler scheduler_;
};

}  // namespace

std::unique_ptr<Driver> drive_here(const Plan& plan, Engine& engine, const RunSettings& settings,
                                   std::vector<bool> skip, DriverHooks hooks) {
  if (std::find(skip.begin(), skip.end(), false) != skip.end()) warm_up(plan, engine, settings);
  if (settings.requests) skip.assign(skip.size(), true);
  return std::make_unique<LocalDriver>(plan, engine, settings, std::move(skip), std::move(hooks));
}

}  // namespace lockstep
