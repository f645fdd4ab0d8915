#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "base/json.h"
#include "engine/engine.h"
#include "engine/worker.h"

namespace lockstep {

/// A worker as the engine of this machine keeps it: started when it is needed, started again when
/// it has died, given up when it cannot work or dies too often.
class LocalWorker {
 public:
  using Clock = std::chrono::steady_clock;

  /// `log`: the file to which its standard error goes.
  LocalWorker(WorkerSpec spec, std::filesystem::path log);

  const WorkerSpec& spec() const { return spec_; }
  /// Null while there is no process.
  WorkerConnection* connection() { return connection_.get(); }
  const WorkerConnection* connection() const { return connection_.get(); }
  /// Whether it has said hello, so that it can be told what to run.
  bool ready() const { return ready_; }
  /// Why it is not started again, or empty.
  const std::string& failure() const { return failure_; }
  /// What it answered to `hello` last, or null.
  const Json& hello() const { return hello_; }
  /// How many messages with something to execute it can have under way at once.
  std::size_t concurrent() const;
  /// How many executions for this device ("cuda:0") one message may have: one child takes them.
  std::size_t batch_for(const std::string& device) const;
  /// Whether it can digest storages on this device.
  bool digests(const std::string& device) const;
  /// "ready", or for how long it has been starting.
  std::string describe(Clock::time_point now) const;

  /// Starts it and says `hello` to it, unless it is there or was given up; true if it did.
  bool start(const Json& hello);
  /// Takes its answer to `hello`: it is ready, or given up.
  void greet(const Json& hello);
  /// It has spoken of an execution: what it dies of from now on is a job's.
  void note_word() { deaths_ = 0; }
  /// Forgets a process whose connection is at fault, and says what the fault is.  `died`: nobody
  /// has ended it, and no more than one execution can have been the reason.
  std::string lose(bool died);
  /// Ends its process at once, and all that came of it.
  void end();
  /// Asks it to exit, waits for that so many seconds, and ends it; how it ended where that was not
  /// well, or empty.
  std::string dismiss(double seconds);
  /// Ends it where it has not said hello within `limit` seconds.
  void check_clock(Clock::time_point now, double limit);

 private:
  WorkerSpec spec_;
  std::filesystem::path log_;
  std::unique_ptr<WorkerConnection> connection_;
  Json hello_;
  bool ready_ = false;
  std::string failure_;
  int deaths_ = 0;  ///< in a row, without a word about an execution
  Clock::time_point started_;
};

}  // namespace lockstep
