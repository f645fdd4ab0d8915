#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace lockstep {

/// An engine that has a part of the answers already: what LocalEngineOptions::save_jobs saved.
/// Answers a job of one part from what was saved, without executing it. Of a job of several parts
/// it executes only the last, on the saved output of the part before. Anything else (a gold
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
  std::string dismiss(const WorkerSpec& spec) override { return engine_->dismiss(spec); }
  void abandon() override;

 private:
  void answer(Job job, Observation observation);

  std::unique_ptr<Engine> engine_;
  std::filesystem::path saved_;
  std::deque<std::pair<Job, Observation>> answered_;  ///< whose callbacks the next `step` calls
};

}  // namespace lockstep
