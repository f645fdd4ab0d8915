#pragma once

#include <atomic>
#include <cstddef>

namespace lockstep::eager {

/// How many executions of a batch have ended: a number that a forked child counts up and its parent
/// reads when the child is gone.
class Progress {
 public:
  /// Throws std::bad_alloc.
  Progress();
  Progress(Progress&& other) noexcept;
  Progress& operator=(Progress&&) = delete;
  ~Progress();

  void count_one() { ++*ended_; }
  std::size_t ended() const { return *ended_; }

 private:
  std::atomic<std::size_t>* ended_;  ///< in memory that the two share
};

}  // namespace lockstep::eager
