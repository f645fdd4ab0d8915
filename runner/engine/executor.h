#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/worker.h"
#include "wire/observation.h"

namespace lockstep {

/// How to start a worker.
struct WorkerSpec {
  std::string name;  ///< "eager", "compiled", or the path's name
  Command command;
};

/// One execution to come.
struct Job {
  std::string id;         ///< shown while it runs
  WorkerSpec worker;      ///< workers with the same command and environment are shared
  Json message;           ///< a `run` message without `run` and `out`
  std::size_t order = 0;  ///< smaller ones go first
  /// Gets what happened and the seconds from `started` to the end.
  std::function<void(Observation, double)> done;
  /// Set by the executor: its worker was lost with others under way, so it is run again with no
  /// other on its worker.
  bool alone = false;
};

/// Seconds that each stage may take.
struct StageLimits {
  double compile = 300;  ///< trace, lower, compile
  double other = 60;
  double warm_up = 600;  ///< from the start of a worker to its hello; the stage `warm`
  double of(const std::string& stage) const {
    if (stage == "warm") return warm_up;
    return stage == "trace" || stage == "lower" || stage == "compile" ? compile : other;
  }
};

struct ExecutorOptions {
  std::size_t jobs = 1;
  StageLimits limits;
  std::filesystem::path
      scratch;  ///< a directory on a memory file system; the executor makes `out` directories in it
  Json hello;   ///< the `hello` message for every worker
  bool keep_outputs = false;  ///< leave observations in the scratch directory
};

/// Runs jobs on workers: starts these when first needed, restarts those that die, watches every
/// clock.  When a worker is lost with several executions under way, only those whose clock had run
/// out are reported; each other one is run once more, alone on its worker, so that a second loss is
/// its own.  One thread, one poll loop; callbacks are called from `step`.
class Executor {
 public:
  explicit Executor(ExecutorOptions options);
  ~Executor();

  /// Starts a worker without a job, so that it warms up meanwhile.
  void warm_up(const WorkerSpec& spec);
  void submit(Job job);
  /// Waits until something happens, at most `seconds`, and handles it.
  void step(double seconds);
  /// Whether nothing is queued or under way.
  bool idle() const { return queue_.empty() && running_.empty(); }
  std::vector<std::string> running_ids() const;
  /// What runs and what workers start, a line each, with stage and seconds: for someone who
  /// wonders.
  std::string report() const;
  /// What a worker answered to `hello`, or null while it has not.
  const Json* hello_of(const WorkerSpec& spec) const;
  /// Why a worker cannot be used, or empty.
  std::string failure_of(const WorkerSpec& spec) const;
  /// Drops the queue and kills what runs; callbacks of these jobs are not called.
  void abandon();

  /// Called once for each worker that is ready, and with a note when one starts.
  std::function<void(const std::string& name, const Json& hello)> on_hello;
  std::function<void(const std::string& text)> on_note;
  std::function<void()> on_started;

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker;
  struct Running;

  static std::string key_of(const WorkerSpec& spec);
  Worker& worker_for(const WorkerSpec& spec);
  void start(Worker& worker);
  void dispatch();
  // `now` is when what workers had said was read: the time that callbacks take is nobody's.
  void handle(Worker& worker, const WorkerMessage& message, Clock::time_point now);
  void lost(Worker& worker, Clock::time_point now);
  void finish(std::int64_t run, Observation observation, Clock::time_point now);
  void check_clocks(Clock::time_point now);

  ExecutorOptions options_;
  std::map<std::string, std::unique_ptr<Worker>> workers_;
  std::deque<Job> queue_;
  std::map<std::int64_t, std::unique_ptr<Running>> running_;
  std::int64_t next_run_ = 1;
};

}  // namespace lockstep
