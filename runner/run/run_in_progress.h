#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "expectations/expectations.h"
#include "plan/plan.h"
#include "record/coverage.h"
#include "record/log.h"
#include "record/reporter.h"
#include "run/driver.h"
#include "run/run.h"

namespace lockstep {

/// Passes verdicts on in the order of the plan.
class InOrder {
 public:
  InOrder(Reporter& reporter, std::size_t count) : reporter_(reporter), waiting_(count) {}
  /// The verdict at a place of the plan.
  void put(std::size_t index, Verdict verdict);
  /// What comes after a gap that will not be filled any more.
  void flush();
  std::vector<Verdict> take();

 private:
  Reporter& reporter_;
  std::vector<std::optional<Verdict>> waiting_;
  std::size_t next_ = 0;
};

/// A run between its begin and its end: takes verdicts, gives them their standing, writes them to
/// the log and tells the reporter of them.  The first failure to write ends it.
class RunInProgress {
 public:
  /// `log` is open; what is given here outlives the object.
  RunInProgress(const Plan& plan, Engine& engine, const RunSettings& settings, Reporter& reporter,
                RunLog log);
  ~RunInProgress();
  RunInProgress(const RunInProgress&) = delete;
  RunInProgress& operator=(const RunInProgress&) = delete;

  /// Records the machine, and listens to the engine.
  void begin();
  /// Takes the verdicts of the log that is gone on with, and those of earlier runs that hold still.
  void take_over_known();
  /// Has everything else executed, here or on the cluster.
  Result<void> drive();
  /// Ends the log; the whole record.
  Result<RunRecord> end();

 private:
  void note_environment(const std::string& name, const Json& values);
  void hear_hello(const std::string& name, const Json& hello);
  void tell_of_workers();
  /// A verdict that was made now.
  void take(Verdict verdict);
  /// Verdicts whose index is that of their item; they are written where they are new.
  void judged(std::vector<Verdict> verdicts, bool is_new);
  Verdict with_repro(Verdict verdict) const;
  /// Whether it would fail the run, given the expectations.
  bool would_fail(Verdict verdict) const;
  bool stopped() const;
  DriverHooks hooks();

  const Plan& plan_;
  Engine& engine_;
  const RunSettings& settings_;
  Reporter& reporter_;
  RunLog log_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  RunRecord record_;
  Result<void> written_;
  std::optional<Coverage> coverage_;
  Expectations expectations_;
  InOrder in_order_;
  std::vector<bool> known_;  ///< of each item of the plan, whether it needs no execution
  std::size_t failures_ = 0;
};

}  // namespace lockstep
