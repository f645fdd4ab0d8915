#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep {

/// Work that goes on beside the thread that hands it out.  Begun in the order in which it is
/// submitted; its results are taken by that one thread, in the order in which they are there.
class ThreadPool {
 public:
  /// `wake` is called on a thread of the pool, each time that there is something to take.
  ThreadPool(std::size_t threads, std::function<void()> wake);
  /// Drops tasks that have not begun and results that nobody took; waits for running tasks.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Does `work` on a thread; then `take` calls `done`.
  void submit(std::function<void()> work, std::function<void()> done);
  /// Calls `done` of one piece of work that has ended, or throws what it threw; false if there is
  /// none.
  bool take();

 private:
  struct Piece {
    std::function<void()> work, done;
    std::exception_ptr thrown;
  };
  void serve();

  std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> waiting_, ended_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
