#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/scratch.h"
#include "plan/level.h"
#include "run/operators.h"
#include "run/run.h"
#include "run/session_settings.h"
#include "run/suite.h"

namespace lockstep {

/// A suite, the operators of a torch, and the workers that execute: what every command needs, each
/// as much of it as it asks for.  In this order: read_suite, read_operators, expand; start,
/// meet_torch; plan_request and make_plan; run.
class Session {
 public:
  explicit Session(SessionSettings settings);

  /// Its threads are never 0: those that were asked for, or the level's.
  const SessionSettings& settings() const { return settings_; }
  const Suite& suite() const { return suite_; }
  /// Null where there is no dump of them: then only the structure of cases is checked.
  const Registry* operators() const { return operators_ ? &*operators_ : nullptr; }

  /// What modules of Python bring besides: the user's, and those that paths of the suite import.
  /// Null where there are none.
  const PythonOperators* python_operators() const { return python_operators_.get(); }

  /// Reads the suite (suite.h).
  Result<void> read_suite(Diagnostics& diagnostics);
  /// Begins to read the operators, beside what comes before `read_operators`.
  void expect_operators();
  /// Reads the operators (operators.h).
  Result<void> read_operators();
  /// Expands the suite's sweeps over the operators.
  void expand();
  const Level& level() const { return level_; }
  /// From now on the sweeps have, too, what this level has of them, if it is a frozen one.
  void use(Level level);

  /// Makes workers possible, on this machine; what they say on standard error goes to `logs`, or
  /// is lost at the end of the session where that is empty.
  Result<void> start(const std::filesystem::path& logs);
  /// The same with another engine; its scratch directory is its own.
  Result<void> start_on(std::unique_ptr<Engine> engine);
  /// Starts the Python workers of the paths that the filter names, or else of the default ones:
  /// they take seconds, and meanwhile there is torch to meet and a plan to make.
  void warm_up(const Filter& filter);
  /// What the workers run on.
  Engine& engine() { return *engine_; }
  WorkerSpec eager() const;
  WorkerSpec worker(const Path& path) const;
  /// Waits for a worker's answer to `hello`.  Its failure and an interruption are errors.
  Result<Json> wait_for(const WorkerSpec& worker);
  /// Waits for the eager worker, and takes the operators and the devices of the torch that it has,
  /// which may not be the one that the build found.  A worker that states no operators_digest has
  /// none.
  Result<void> meet_torch();
  /// The devices of the eager worker, once it has started.
  const std::vector<std::string>& devices() const { return devices_; }
  /// The CPU levels of torch's at which that can be executed; empty: the eager worker names none.
  const std::vector<std::string>& cpu_levels() const { return cpu_levels_; }
  /// What the eager worker says of the torch that it has; an object.
  const Json& environment() const { return environment_; }

  /// From what a plan is made: with the devices that there are, or before meet_torch those of the
  /// settings.  Points into the session.
  PlanRequest plan_request(const Filter& filter) const;
  /// The devices before torch has started, instead of those of the settings.
  void suppose_devices(std::vector<std::string> devices) { settings_.devices = std::move(devices); }
  /// Takes the default paths that cannot be used here (absent_paths.h) off a request that names no
  /// path, and returns them; of a request that goes down the ladder (`layers`), all such paths.
  /// A path that was named, or that the settings bring, is planned even if it cannot be used.
  Result<std::vector<AbsentPath>> leave_out_absent(PlanRequest& request, bool layers = false);
  /// What a run of the plan needs; the caller adds where and how it is to be run.  `info` says what
  /// was asked for: version, time, arguments and level.  `whole_suite`: the request takes every
  /// case on the paths and devices that it takes.
  RunSettings run_settings(const PlanRequest& request, const Plan& plan, RunInfo info,
                           bool whole_suite) const;
  /// Lets a run take verdicts that are in `folder`, and keep there what it makes (verdict_cache.h).
  /// Only those of torch's own backends, of which all is known that decides: not of a path that
  /// imports modules, or has a worker of its own.
  Result<void> reuse_verdicts(const std::filesystem::path& folder, const Plan& plan,
                              RunSettings& run) const;
  /// Where runs and what is tried beside them are executed, after meet_torch.
  Workplace workplace() const;
  /// Executes a plan (run.h).
  Result<RunRecord> run(const Plan& plan, const RunSettings& settings, Reporter& reporter);

 private:
  SessionSettings settings_;
  bool asks_for_threads_;  ///< whoever made the settings
  Suite suite_;
  Level level_;
  std::optional<Registry> operators_;
  std::future<Result<std::optional<Registry>>> expected_operators_;
  std::shared_ptr<const PythonOperators> python_operators_;
  std::optional<Scratch> scratch_;
  std::unique_ptr<Engine> engine_;  ///< after `scratch_`, so that it ends first
  Json environment_ = Json::object();
  std::vector<std::string> devices_;     ///< that the eager worker has
  std::vector<std::string> cpu_levels_;  ///< likewise
  bool met_torch_ = false;
};

}  // namespace lockstep
