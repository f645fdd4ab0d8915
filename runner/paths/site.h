#pragma once

#include <string>

namespace lockstep {

/// Where and how an execution computes: whatever its result may depend on.
struct Site {
  std::string device;     ///< "cpu", "cuda:0"; empty, of a path: that of the instance
  std::string cpu_level;  ///< torch's word in small letters ("avx2"); empty: the machine's own
  int threads = 0;        ///< intra-op; 0: those of the case, else of the run

  auto operator<=>(const Site&) const = default;
};

/// What of a site is not as in every other execution of an instance on `device`, for people: "on
/// cpu, with 4 threads"; empty: nothing.
std::string describe(const Site& site, const std::string& device);

}  // namespace lockstep
