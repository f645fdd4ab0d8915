#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "plan/plan.h"
#include "run/run.h"

namespace lockstep {

/// Whom a driver hands what it gets, and asks whether it is to go on.
struct DriverHooks {
  std::function<void(Verdict)> on_verdict;
  std::function<void(const std::string&)> on_note;
  /// What a machine of a cluster says that it runs on.
  std::function<void(const std::string& name, const Json& values)> on_environment;
  std::function<bool()> stopped;
  std::function<bool(const Verdict&)> worth_retrying;
  std::function<bool(std::size_t item)> stays_alone;  ///< SchedulerOptions has it
};

/// Who executes what a run lacks: this machine, or a cluster.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual bool done() = 0;
  /// Executes, and hands on the verdicts that come, until something happens or a moment is over.
  virtual Result<void> step() = 0;
  /// Once it is done: tells what still can be told.
  virtual void finish() {}
  /// What is under way, and who is starting, by name.
  virtual std::vector<std::string> running() const = 0;
  virtual std::vector<std::string> starting() const = 0;
  /// A few lines for someone who wonders.
  virtual std::string report() const = 0;
};

/// Has the workers of an engine execute what `skip` does not say of each item that it is known; for
/// a member of a cluster what it is told to.
std::unique_ptr<Driver> drive_here(const Plan& plan, Engine& engine, const RunSettings& settings,
                                   std::vector<bool> skip, DriverHooks hooks);

/// Has a cluster execute it; an error where that cannot be reached.  `environment` as RunRecord has
/// it; it grows by on_environment.
Result<std::unique_ptr<Driver>> drive_cluster(const Plan& plan, const RunSettings& settings,
                                              const Json& environment,
                                              const std::vector<bool>& skip, DriverHooks hooks);

}  // namespace lockstep
