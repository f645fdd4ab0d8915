#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_lines.h"
#include "engine/engine.h"
#include "expectations/expectations.h"
#include "plan/plan.h"
#include "record/log.h"
#include "record/reporter.h"
#include "run/interrupts.h"
#include "run/verdict_cache.h"
#include "run/workplace.h"

namespace lockstep {

/// Where a plan is executed, if not here.
struct ClusterOptions {
  std::vector<std::string> bridge;        ///< the program that speaks with the cluster (cluster.md)
  Json begin;                             ///< the first message for it
  std::map<std::string, double> seconds;  ///< what verdicts took in an earlier run, by their ids
};

/// What a run needs besides its plan.
struct RunSettings {
  std::filesystem::path directory;  ///< of the log; made where needed
  Workplace workplace;
  std::size_t max_failures = 0;  ///< stop after so many failing verdicts; 0: never
  bool strict = false;
  int repeat = 1;   ///< executions of every item on its path; the worst one counts
  int retries = 0;  ///< at most so many more executions of a failing item, until it conforms
  /// Of inputs that nobody has seen (SchedulerOptions); none: nobody draws any.
  std::optional<std::uint64_t> fresh_seed;
  bool save_tensors = false;  ///< the tensors of outputs that do not conform, in `directory`
  /// The instances (ids and case ids) and paths that the plan covers completely. Expectations about
  /// these
  /// that match nothing are reported.
  ExpectationScope scope;
  /// Verdicts that need not be made again, where they are asked for, and the key there of each item
  /// of the plan; an empty one is always executed.
  std::shared_ptr<VerdictCache> cache;
  std::vector<std::string> cache_keys;
  /// Members of a cluster execute the plan, not the engine.
  std::optional<ClusterOptions> cluster;
  /// Of a member: executes what it is told to, until that ends, and not the whole plan: lines
  /// `{"places": […]}` of items.
  std::shared_ptr<JsonLines> requests;
  /// Of a member: the descriptor to which its log goes, instead of a file; below 0: none.
  int log_to = -1;
  /// What the log in `directory` says, of a run that is to be gone on with.
  std::optional<RunRecord> resumed;
  /// The command that repeats a verdict: how Lockstep is called, to do what, and what that needs
  /// besides the id.
  std::string launcher = "ci/lockstep", command = "run", repro_options;
  RunInfo info;
  Json machine;  ///< what the record says of the machine; null: machine_environment()
  std::vector<Expectation> expectations;
  ExpectationConditions conditions;
  /// The operators whose coverage the run counts; null: it does not count.
  const Registry* operators = nullptr;
};

/// Whether a run that ended early can be gone on with: the plan, the suite, and what eager runs on
/// (`environment`, of its hello), must be those of its log.  Verdicts of two torches or of two
/// levels of the CPU in one log would pass for those of one.
Result<void> can_resume(const RunRecord& before, const RunInfo& now, const Json& environment);

/// Executes a plan: begins (or resumes) the log, runs every item, gives verdicts their standing,
/// tells the reporter, and ends the log. `engine` has the eager worker ready. Once `interrupted()`
/// is true, nothing new begins, running executions are killed, and the record holds what was done.
/// Errors are those of the log; the verdicts so far are in it.
Result<RunRecord> execute(const Plan& plan, Engine& engine, const RunSettings& settings,
                          Reporter& reporter);

}  // namespace lockstep
