#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "run/scheduler.h"

namespace lockstep {

/// A case that belongs to no suite, to be executed and judged on some paths.
struct Trial {
  std::string name;  ///< shown while it runs
  std::shared_ptr<const Case> declared;
  std::vector<Path> paths;  ///< their names need not differ
};

/// What became of a trial on one path.
struct Tried {
  std::optional<Verdict> verdict;  ///< empty: there was no time for it
  Executed executed;               ///< what the verdict was made of; empty where nothing returned

  bool diverges() const { return verdict && info(verdict->found.status).diverges(); }
};

/// Executes trials as a run executes a plan: by the same scheduler, engine and judge; but it writes
/// no log and asks no expectations.  Those that may share a compilation do.  Nothing new is begun
/// after the deadline, nor after an interruption, and what runs then is given up.
class Trials {
 public:
  using Clock = std::chrono::steady_clock;

  /// Trials are on `device`.
  Trials(Engine& engine, Workplace workplace, std::string device, Clock::time_point deadline)
      : engine_(engine),
        workplace_(std::move(workplace)),
        device_(std::move(device)),
        deadline_(deadline) {}

  /// For each trial what became of it on each of its paths.  `golds` are made of all that returns;
  /// others where they decide something.
  std::vector<std::vector<Tried>> run(const std::vector<Trial>& trials, const GoldSet& golds = {});
  /// The same at a glance: what diverges in a graph that it shares is not executed alone, and no
  /// more than likely.
  std::vector<std::vector<Tried>> glance(const std::vector<Trial>& trials);
  /// The same of a single one on a single path.
  Tried run_one(Trial trial, const GoldSet& golds = {});

  /// Whether something was left undone.
  bool ran_out() const { return ran_out_; }
  bool time_is_up() const;
  /// How many verdicts were given.
  std::size_t count() const { return count_; }
  const std::string& device() const { return device_; }

 private:
  std::vector<std::vector<Tried>> execute(const std::vector<Trial>& trials,
                                          SchedulerOptions options);

  Engine& engine_;
  Workplace workplace_;
  std::string device_;
  Clock::time_point deadline_;
  bool ran_out_ = false;
  std::size_t count_ = 0, runs_ = 0;
};

}  // namespace lockstep
