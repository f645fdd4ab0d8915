#pragma once

#include "record/record.h"

namespace lockstep {

/// Listens to a run while it happens.  The reports that are functions of a finished run (junit.h,
/// json.h, html.h, summary.h) need no listener.
class Reporter {
 public:
  virtual ~Reporter() = default;
  /// Before anything is executed.
  virtual void run_started(const RunInfo& info) = 0;
  /// Something that takes long and is no instance: "warming the compiled worker (the first time
  /// builds a precompiled header)".
  virtual void note(const std::string& text) = 0;
  /// What is under way now: ids, the one that began last behind; and workers that have been started
  /// but are not ready, by their names, for which everything else may have to wait.
  virtual void running(const std::vector<std::string>& ids,
                       const std::vector<std::string>& starting) = 0;
  /// Time goes by, and nothing else may have happened; several times a second.
  virtual void tick() {}
  /// In the order of the plan, whatever the order of execution was.
  virtual void verdict(const Verdict& verdict) = 0;
  /// At the end; also after an interruption, with what was done.
  virtual void run_ended(const RunRecord& record) = 0;
};

}  // namespace lockstep
