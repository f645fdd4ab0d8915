#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace lockstep {

/// An engine that has a part of the answers already: what LocalEngineOptions::save_jobs saved.  A
/// job with one part that was saved is answered with that and not executed; of a job with several
/// the last part alone is executed, on what the part before it had left.  Anything else (a gold
/// that nobody needed then) is executed as it is.
class ReplayingEngine : public Engine {
 public:
  ReplayingEngine(std::unique_ptr<Engine> engine, std::filesystem::path saved);

  void warm_up(const WorkerSpec& spec) override { engine_->warm_up(spec); }
  void submit(Job job) override;
  void step(double seconds) override;
  void wake() override { engine_->wake(); }
  bool idle() const override { return answered_.empty() && engine_->idle(); }
  std::size_t wanted() const override { return engine_->wanted(); }
  std::vector<std::string> running_ids() const override { return engine_->running_ids(); }
  std::vector<std::string> starting() const override { return engine_->starting(); }
  std::string report() const override { return engine_->report(); }
  const Json* hello_of(const WorkerSpec& spec) const override { return engine_->hello_of(spec); }
  std::string failure_of(const WorkerSpec& spec) const override {
    return engine_->failure_of(spec);
  }
  void abandon() override;

 private:
  void answer(Job job, Observation observation);

  std::unique_ptr<Engine> engine_;
  std::filesystem::path saved_;
  std::deque<std::pair<Job, Observation>> answered_;  ///< whose callbacks the next `step` calls
};

}  // namespace lockstep
