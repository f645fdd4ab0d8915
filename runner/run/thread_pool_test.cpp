#include "run/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>

namespace lockstep {
namespace {

/// Counts how often it was woken, and can be waited for.
class Bell {
 public:
  void ring() {
    const std::lock_guard lock(mutex_);
    ++layer_;
    changed_.notify_all();
  }
  void wait_for(int times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return layer_ >= times; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int layer_ = 0;
};

TEST(ThreadPoolTest, HasItsResultsTakenOnTheThreadThatAsks) {
  Bell bell;
  ThreadPool pool(3, [&] { bell.ring(); });
  EXPECT_FALSE(pool.take());
  const auto here = std::this_thread::get_id();
  std::vector<int> results(20);
  int taken = 0;
  for (int i = 0; i < 20; ++i) {
    pool.submit(
        [&results, i, here] {
          EXPECT_NE(std::this_thread::get_id(), here);
          results[static_cast<std::size_t>(i)] = i * i;
        },
        [&taken, here] {
          EXPECT_EQ(std::this_thread::get_id(), here);
          ++taken;
        });
  }
  bell.wait_for(20);
  while (pool.take()) {
  }
  EXPECT_EQ(taken, 20);
  EXPECT_EQ(results[19], 361);
}

TEST(ThreadPoolTest, BeginsInOrderAndGoesOnBesideWhatTakesLong) {
  Bell bell;
  ThreadPool one(1, [&] { bell.ring(); });
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) one.submit([&order, i] { order.push_back(i); }, [] {});
  bell.wait_for(5);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  // A pool of two: the first piece ends only after the second one.
  ThreadPool two(2, [&] { bell.ring(); });
  std::promise<void> second_ended;
  two.submit([&] { second_ended.get_future().wait(); }, [] {});
  two.submit([&] { second_ended.set_value(); }, [] {});
  bell.wait_for(7);
}

TEST(ThreadPoolTest, DropsWhatIsNotBegunAndWaitsForWhatIs) {
  std::atomic<bool> ended = false;
  std::promise<void> begun, go_on;
  std::thread helper;
  const auto held = std::make_shared<int>(0);
  {
    ThreadPool pool(1, [] {});
    pool.submit(
        [&] {
          begun.set_value();
          go_on.get_future().wait();
          ended = true;
        },
        [] { ADD_FAILURE() << "nobody took it"; });
    pool.submit([held] { ADD_FAILURE() << "begun after the end"; }, [] {});
    begun.get_future().wait();
    // The pool is told to end before its work can.
    helper = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      go_on.set_value();
    });
  }
  EXPECT_TRUE(ended);
  EXPECT_EQ(held.use_count(), 1);
  helper.join();
}

TEST(ThreadPoolTest, PassesOnWhatWasThrown) {
  Bell bell;
  ThreadPool pool(1, [&] { bell.ring(); });
  pool.submit([] { throw std::runtime_error("no memory"); },
              [] { ADD_FAILURE() << "it has no result"; });
  bell.wait_for(1);
  EXPECT_THROW(pool.take(), std::runtime_error);
  EXPECT_FALSE(pool.take());
}

}  // namespace
}  // namespace lockstep
