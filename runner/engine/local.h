#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/engine.h"
#include "engine/worker.h"

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
  std::size_t jobs = 1;
  StageLimits limits;
  /// A directory on a memory file system, for what workers write; `out` directories are made in it.
  std::filesystem::path scratch;
  /// Where what a worker says on standard error goes, as worker-NAME.log.
  std::filesystem::path logs;
  Json hello;  ///< the `hello` message for every worker, without `scratch`
};

/// Runs jobs on workers of this machine: starts these when first needed, restarts those that die,
/// watches every clock.  When a worker is lost with several executions under way, only those whose
/// clock had run out are reported; each other one is run once more, alone on its worker, so that a
/// second loss is its own.  One thread, one poll loop.
class LocalEngine : public Engine {
 public:
  explicit LocalEngine(LocalEngineOptions options);
  ~LocalEngine() override;

  void warm_up(const WorkerSpec& spec) override;
  void submit(Job job) override;
  void step(double seconds) override;
  void wake() override;
  bool idle() const override { return queue_.empty() && running_.empty(); }
  std::vector<std::string> running_ids() const override;
  std::string report() const override;
  const Json* hello_of(const WorkerSpec& spec) const override;
  std::string failure_of(const WorkerSpec& spec) const override;
  void abandon() override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker;
  struct Running;

  /// A part of a job on its way.
  struct Execution {
    Job job;
    std::size_t part = 0;
    /// Its worker was lost with others under way, so it is run again with no other on its worker.
    bool alone = false;
    std::filesystem::path before;     ///< `out` of the part before
    std::optional<Observation> seen;  ///< what the parts before saw
    double seconds = 0;               ///< that these took

    const WorkerSpec& worker() const { return job.parts[part].worker; }
    bool is_last() const { return part + 1 == job.parts.size(); }
  };

  static std::string key_of(const WorkerSpec& spec);
  Worker& worker_for(const WorkerSpec& spec);
  std::filesystem::path log_of(const WorkerSpec& spec) const;
  void start(Worker& worker);
  void enqueue(Execution execution);
  void dispatch();
  // `now` is when what workers had said was read: the time that callbacks take is nobody's.
  void handle(Worker& worker, const WorkerMessage& message, Clock::time_point now);
  void lost(Worker& worker, Clock::time_point now);
  void finish(std::int64_t run, Observation observation, Clock::time_point now);
  void check_clocks(Clock::time_point now);

  LocalEngineOptions options_;
  std::map<std::string, std::unique_ptr<Worker>> workers_;
  std::deque<Execution> queue_;
  std::map<std::int64_t, std::unique_ptr<Running>> running_;
  std::int64_t next_run_ = 1;
  int woken_ = -1;  ///< an eventfd
};

}  // namespace lockstep
