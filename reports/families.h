#pragma once

#include <span>
#include <string_view>

#include "verdict/verdict.h"

namespace lockstep {

/// A family of operators, and the tag of a case by which it is known.
struct Family {
  std::string_view tag;
  std::string_view name;
};

/// All families; a case with the tags of several belongs to the first.  The table in families.cpp
/// is their only home.
std::span<const Family> all_families();

/// The name of the family that the tags of a verdict's case say, "others" where they say none.
std::string_view family_of(const Verdict& verdict);

}  // namespace lockstep
