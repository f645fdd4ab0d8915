#include "record/draw.h"

#include <fmt/format.h>

#include "base/digest.h"

namespace lockstep {

bool is_drawn(std::uint64_t seed, double percent, std::string_view id) {
  constexpr double kAll = 1ULL << 48;
  const std::string digits = Digest().add(fmt::format("{} ", seed)).add(id).hex().substr(0, 12);
  return static_cast<double>(std::stoull(digits, nullptr, 16)) < percent / 100 * kAll;
}

}  // namespace lockstep
