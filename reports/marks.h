#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "verdict/verdict.h"

namespace lockstep {

/// What a verdict can be besides its status, as filters look for it with `is:`.
enum class Mark {
  tolerated,
  weak,
  partly,
  stated,
  vacuous,
  unstable,
  front_end,
  unjudged,
  lost_warnings,
  added_warnings
};

/// Everything that depends on a mark alone.  The table in marks.cpp is its only home.
struct MarkInfo {
  Mark mark;
  std::string_view name;     ///< as in filters
  std::string_view label;    ///< for people
  std::string_view meaning;  ///< of a verdict that has it, as the end of a sentence
  bool (*is_of)(const Verdict& verdict);
};

/// All marks in the order of the enumeration.
std::span<const MarkInfo> all_marks();

/// The names of those that the verdict has, in the same order.
std::vector<std::string_view> marks_of(const Verdict& verdict);

}  // namespace lockstep
