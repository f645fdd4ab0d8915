#include "explain/trials.h"

#include <fmt/format.h>

#include "plan/share.h"
#include "run/run.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The plan of some trials; its items are in the order of the trials and of their paths.
Plan plan_of(const std::vector<Trial>& trials, const std::string& device) {
  Plan plan;
  plan.devices = {device};
  for (const Trial& trial : trials) {
    Instance instance{trial.name + "@" + device, device, trial.declared, trial.paths.size(), 0};
    for (const Path& path : trial.paths) {
      // `$device` is resolved by now: a trial is the same wherever eager is executed.
      if (!path.reference.device.empty())
        instance.on_devices[path.reference.device] = trial.declared;
      PlanItem item{plan.instances.size(), plan.paths.size(), instance.id + "/" + path.name};
      item.place = plan.items.size();
      plan.items.push_back(std::move(item));
      plan.paths.push_back(path);
    }
    plan.instances.push_back(std::move(instance));
  }
  share(plan);
  return plan;
}

}  // namespace

bool Trials::time_is_up() const { return interrupted() || Clock::now() >= deadline_; }

std::vector<std::vector<Tried>> Trials::run(const std::vector<Trial>& trials,
                                            const GoldSet& golds) {
  SchedulerOptions options;
  options.golds = golds;
  return execute(trials, std::move(options));
}

std::vector<std::vector<Tried>> Trials::glance(const std::vector<Trial>& trials) {
  SchedulerOptions options;
  options.shared_counts = true;
  return execute(trials, std::move(options));
}

std::vector<std::vector<Tried>> Trials::execute(const std::vector<Trial>& trials,
                                                SchedulerOptions options) {
  const Plan plan = plan_of(trials, device_);
  std::vector<Tried> tried(plan.items.size());
  options.workplace = workplace_;
  options.workplace.scratch = workplace_.scratch / fmt::format("trials{}", runs_++);
  std::error_code error;
  fs::create_directories(options.workplace.scratch, error);
  options.on_executed = [&](Executed executed) {
    tried[executed.item].executed = std::move(executed);
  };
  {
    Scheduler scheduler(plan, engine_, std::move(options), std::vector<bool>(plan.items.size()));
    scheduler.on_verdict = [&](Verdict verdict) {
      ++count_;
      tried[verdict.facts.index].verdict = std::move(verdict);
    };
    while (!scheduler.done()) {
      if (time_is_up()) {
        ran_out_ = true;
        break;
      }
      scheduler.advance();
      engine_.step(0.2);
      while (scheduler.hear()) {
      }
    }
  }
  engine_.abandon();
  fs::remove_all(workplace_.scratch / fmt::format("trials{}", runs_ - 1), error);
  std::vector<std::vector<Tried>> result;
  std::size_t next = 0;
  for (const Trial& trial : trials) {
    result.emplace_back();
    for (std::size_t i = 0; i < trial.paths.size(); ++i)
      result.back().push_back(std::move(tried[next++]));
  }
  return result;
}

Tried Trials::run_one(Trial trial, const GoldSet& golds) {
  std::vector<Trial> one;
  one.push_back(std::move(trial));
  return std::move(run(one, golds).front().front());
}

}  // namespace lockstep
