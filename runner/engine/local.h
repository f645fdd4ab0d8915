#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/batch.h"
#include "engine/engine.h"
#include "engine/local_worker.h"
#include "engine/queue.h"

namespace lockstep {

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

struct LocalEngineOptions {
  /// Slots: one for each child that executes, and where it asks for more threads than the others
  /// have, as many as these would take; never more than there are.
  std::size_t jobs = 1;
  StageLimits limits;
  /// A directory on a memory file system, in which workers write into `out` directories.
  std::filesystem::path scratch;
  /// Where what a worker says on standard error goes, as worker-NAME.log.
  std::filesystem::path logs;
  Json hello;  ///< the `hello` message for every worker, without `scratch`
  /// A folder for what each part of a job left that is not repeated later (saved.h): all but the
  /// last of several, or the only one; empty: nothing is kept.
  std::filesystem::path save_jobs = {};
};

/// Runs jobs on workers of this machine: starts these when first needed, restarts those that die,
/// watches every clock.  A worker that offers it is given several executions for one device at a
/// time, for one child; a slot never gets more of them than its share of what waits.  When a worker
/// is lost with several executions, only those whose clock had run out are reported; each other one
/// is run once more, alone on its worker, so that a second loss is its own.  One thread, one poll
/// loop.
class LocalEngine : public Engine {
 public:
  explicit LocalEngine(LocalEngineOptions options);
  ~LocalEngine() override;

  void warm_up(const WorkerSpec& spec) override;
  std::string dismiss(const WorkerSpec& spec) override;
  void submit(Job job) override;
  void step(double seconds) override;
  void wake() override;
  bool idle() const override { return queue_.empty() && batches_.empty(); }
  std::size_t wanted() const override;
  std::vector<std::string> running_ids() const override;
  std::vector<std::string> starting() const override;
  std::string report() const override;
  const Json* hello_of(const WorkerSpec& spec) const override;
  std::string failure_of(const WorkerSpec& spec) const override;
  void abandon() override;

 private:
  using Clock = std::chrono::steady_clock;

  static std::string key_of(const WorkerSpec& spec);
  LocalWorker& worker_for(const WorkerSpec& spec);
  void start(LocalWorker& worker);
  void enqueue(Execution execution);
  void dispatch();
  std::size_t slots_of(const Execution& execution) const;
  bool has_room(const LocalWorker& worker, bool alone) const;
  void tell(std::list<Execution> executions);
  void begin(Batch& batch, Clock::time_point now);
  // `now` is when what workers had said was read: the time that callbacks take is nobody's.
  // False: it broke the protocol, and what it said after that does not count.
  bool handle(LocalWorker& worker, const WorkerMessage& message, Clock::time_point now);
  void handle_end(std::list<Batch>::iterator batch, const WorkerMessage& message,
                  Clock::time_point now);
  void lost(LocalWorker& worker, Clock::time_point now);
  void conclude(SentExecution sent, Observation observation, Clock::time_point now);
  void check_clocks(Clock::time_point now);
  /// Seconds that its stage may take.
  double limit_of(const SentExecution& sent) const;

  LocalEngineOptions options_;
  std::map<std::string, std::unique_ptr<LocalWorker>> workers_;
  ExecutionQueue queue_;
  std::list<Batch> batches_;  ///< under way, one in each slot
  std::int64_t next_run_ = 1;
  int woken_ = -1;  ///< an eventfd
};

}  // namespace lockstep
