#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace lockstep {

/// Calls `work(i)` for every i below `count` on all cores, and returns when all is done; what it
/// throws comes out here. `least`: no thread is started for fewer, which would be done before it
/// has begun.
template <typename Work>
void in_parallel(std::size_t count, std::size_t least, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto serve = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::future<void>> helpers;
  try {
    for (std::size_t i = 1; i < std::min(cores, count / least); ++i)
      helpers.push_back(std::async(std::launch::async, serve));
  } catch (const std::system_error&) {  // nobody lets us have as many: those that there are do it
  }
  serve();
  for (std::future<void>& helper : helpers) helper.get();
}

}  // namespace lockstep
