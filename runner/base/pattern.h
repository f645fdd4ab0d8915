#pragma once

#include <string_view>

#include "base/result.h"

namespace lockstep {

/// Longest pattern, bytes: what a stranger writes is compiled in bounded memory.
inline constexpr std::size_t kLongestPattern = 500;

/// Whether a regular expression of a stranger is found in a text, which is UTF-8.  The syntax is
/// RE2's (github.com/google/re2/wiki/Syntax: Perl's without back-references and lookaround), whose
/// time is linear in the text.  An Error if it is no such expression or longer than
/// kLongestPattern.
Result<bool> is_found(std::string_view pattern, std::string_view text);

}  // namespace lockstep
