#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace lockstep {

/// An engine for tests, without a process: a function answers the jobs, one at each step.
class FakeEngine : public Engine {
 public:
  /// What became of a job; nothing: it goes on, and is asked about at the next step.
  using Answer = std::function<std::optional<Observation>(const Job&)>;

  /// Has at most `jobs` under way; every worker is ready and answers `hello` with `hello`.
  FakeEngine(std::size_t jobs, Answer answer, Json hello = Json::object())
      : jobs_(jobs), answer_(std::move(answer)), hello_(std::move(hello)) {}

  void warm_up(const WorkerSpec&) override {}
  std::string dismiss(const WorkerSpec& spec) override { return exits[spec.name]; }
  void submit(Job job) override {
    const auto after =
        std::upper_bound(queue_.begin(), queue_.end(), job.order,
                         [](std::size_t order, const Job& other) { return order < other.order; });
    queue_.insert(after, std::move(job));
  }
  void step(double seconds) override {
    while (running_.size() < jobs_ && !queue_.empty()) {
      running_.push_back(std::move(queue_.front()));
      queue_.pop_front();
      if (on_started) on_started();
    }
    for (auto job = running_.begin(); job != running_.end(); ++job) {
      auto observation = answer_(*job);
      if (!observation) continue;
      const Job answered = std::move(*job);
      running_.erase(job);
      return answered.done(std::move(*observation), 1);
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return woken_; });
    woken_ = false;
  }
  void wake() override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_one();
  }
  bool idle() const override { return queue_.empty() && running_.empty(); }
  std::size_t wanted() const override { return jobs_ * 2 + 2; }
  std::vector<std::string> running_ids() const override {
    std::vector<std::string> ids;
    for (const Job& job : running_) ids.push_back(job.id);
    return ids;
  }
  std::vector<std::string> starting() const override { return {}; }
  std::string report() const override { return ""; }
  const Json* hello_of(const WorkerSpec&) const override { return &hello_; }
  std::string failure_of(const WorkerSpec&) const override { return ""; }
  void abandon() override {
    queue_.clear();
    running_.clear();
  }

  /// How a worker ends when it is dismissed, by its name.
  std::map<std::string, std::string> exits;

 private:
  std::size_t jobs_;
  Answer answer_;
  Json hello_;
  std::deque<Job> queue_, running_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
};

}  // namespace lockstep
