#pragma once

#include <string_view>

#include "base/result.h"

namespace lockstep {

/// Longest pattern, and the part of a text in which it is looked for, in bytes.
inline constexpr std::size_t kLongestPattern = 500;
inline constexpr std::size_t kLongestMatched = 4096;

/// Whether a regular expression of a stranger is found in the beginning of a text.  The syntax is
/// ECMAScript's without back-references and lookahead, so that time is linear in the text: no
/// pattern runs away.  An Error if it is no such expression, is longer than kLongestPattern, or has
/// counts like {1000}{1000}.
Result<bool> is_found(std::string_view pattern, std::string_view text);

}  // namespace lockstep
