#include "verdict/verdict.h"

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 4> kStandings = {"new", "known", "fixed", "waived"};

}  // namespace

std::string_view name_of(Standing standing) {
  return kStandings[static_cast<std::size_t>(standing)];
}
std::optional<Standing> find_standing(std::string_view name) {
  const auto found = std::find(kStandings.begin(), kStandings.end(), name);
  if (found == kStandings.end()) return std::nullopt;
  return static_cast<Standing>(found - kStandings.begin());
}

bool Verdict::fails(bool strict) const {
  switch (standing) {
    case Standing::known:
    case Standing::waived:
      return false;
    case Standing::fixed:
      return strict;
    case Standing::new_:
      break;
  }
  return strict ? info(status).fails_strict : info(status).fails;
}

}  // namespace lockstep
