#include "judge/verdict.h"

#include <array>

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 6> kGrades = {"bits",      "ulp4",     "close",
                                                     "no_worse1", "same1e-3", "none"};
constexpr std::array<std::string_view, 4> kStandings = {"new", "known", "fixed", "waived"};

template <class Enum, std::size_t n>
std::optional<Enum> find_in(const std::array<std::string_view, n>& names, std::string_view name) {
  for (std::size_t i = 0; i < n; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Grade grade) { return kGrades[static_cast<std::size_t>(grade)]; }
std::optional<Grade> find_grade(std::string_view name) { return find_in<Grade>(kGrades, name); }

std::string_view name_of(Standing standing) {
  return kStandings[static_cast<std::size_t>(standing)];
}
std::optional<Standing> find_standing(std::string_view name) {
  return find_in<Standing>(kStandings, name);
}

bool Verdict::fails(bool strict) const {
  switch (standing) {
    case Standing::known:
    case Standing::waived:
      return false;
    case Standing::fixed:
      return strict;
    case Standing::plain:
      break;
  }
  return strict ? info(status).fails_strict : info(status).fails;
}

}  // namespace lockstep
