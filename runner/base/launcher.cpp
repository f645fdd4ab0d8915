#include "base/launcher.h"

#include <fmt/format.h>

#include <cstdlib>

namespace lockstep {

std::string launcher() {
  const char* const set = std::getenv("LOCKSTEP_COMMAND");
  return set == nullptr || *set == '\0' ? "ci/lockstep" : set;
}

std::string typed(std::string_view words) { return fmt::format("`{} {}`", launcher(), words); }

}  // namespace lockstep
