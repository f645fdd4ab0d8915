#include "run/session_settings.h"

#include <algorithm>
#include <thread>

namespace lockstep {

/// One of three waits for the C++ compiler that it started.
std::size_t Pace::executions() const {
  if (jobs > 0) return jobs;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return cores + cores / 2;
}

}  // namespace lockstep
