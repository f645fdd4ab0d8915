#include "paths/site.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace lockstep {

std::string describe(const Site& site, const std::string& device) {
  std::vector<std::string> parts;
  if (!site.device.empty() && site.device != device) parts.push_back("on " + site.device);
  if (!site.cpu_level.empty()) parts.push_back("at " + site.cpu_level);
  if (site.threads > 0)
    parts.push_back(fmt::format("with {} thread{}", site.threads, site.threads == 1 ? "" : "s"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace lockstep
