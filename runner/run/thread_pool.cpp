#include "run/thread_pool.h"

#include <signal.h>

#include <algorithm>
#include <utility>

namespace lockstep {

ThreadPool::ThreadPool(std::size_t threads, std::function<void()> wake) : wake_(std::move(wake)) {
  // Signals are the main thread's: they end its waiting.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  for (std::size_t i = 0; i < std::max<std::size_t>(1, threads); ++i)
    threads_.emplace_back([this] { serve(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::submit(std::function<void()> work, std::function<void()> done) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(work), std::move(done), nullptr});
  changed_.notify_one();
}

bool ThreadPool::take() {
  Piece piece;
  {
    const std::lock_guard lock(mutex_);
    if (ended_.empty()) return false;
    piece = std::move(ended_.front());
    ended_.pop_front();
  }
  if (piece.thrown) std::rethrow_exception(piece.thrown);
  piece.done();
  return true;
}

void ThreadPool::serve() {
  for (;;) {
    Piece piece;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
      if (closing_) return;
      piece = std::move(waiting_.front());
      waiting_.pop_front();
    }
    try {
      piece.work();
    } catch (...) {
      piece.thrown = std::current_exception();
    }
    piece.work = nullptr;  // what it holds of tensors is not needed for `done`
    {
      const std::lock_guard lock(mutex_);
      ended_.push_back(std::move(piece));
    }
    wake_();
  }
}

}  // namespace lockstep
