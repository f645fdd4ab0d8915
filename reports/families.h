#pragma once

#include <span>
#include <string_view>

#include "verdict/verdict.h"

namespace lockstep {

/// A family of operators: the tag of a case by which it is known, and the operators that are of it.
struct Family {
  std::string_view name;
  std::string_view tag;    ///< empty: no tag says it
  std::string_view globs;  ///< of names without namespace and overload, separated by blanks
};

/// All families; what several rows take belongs to the first.  The table in families.cpp is their
/// only home.
std::span<const Family> all_families();

/// The name of the family that the tags of a verdict's case say, or else that of the first operator
/// of its program; "others" where no row takes these.  By names, since logs of any torch are read
/// without its registry.
std::string_view family_of(const Verdict& verdict);

}  // namespace lockstep
