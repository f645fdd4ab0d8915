#include "base/pattern.h"

#include <fmt/format.h>

// Counts are written out, `a{9}` as nine states: this many are enough for any message.
#define _GLIBCXX_REGEX_STATE_LIMIT 2000
#include <regex>

#include "base/text.h"

namespace lockstep {
namespace {

/// Of its own type, so that what the limit above makes of libstdc++'s templates is this file's
/// alone.
struct Traits : std::regex_traits<char> {};
using Regex = std::basic_regex<char, Traits>;

constexpr std::string_view kHint =
    "`match` is an ECMAScript regular expression of at most 500 characters, without "
    "back-references, lookahead and large counts";

/// Lookahead is matched by a search of its own at every place; nested, that is what must not be.
bool looks_ahead(std::string_view pattern) {
  return pattern.find("(?=") != std::string_view::npos ||
         pattern.find("(?!") != std::string_view::npos;
}

}  // namespace

Result<bool> is_found(std::string_view pattern, std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(fmt::format("cannot match \"{}\": {}", one_line(pattern, 100), why),
                std::string(kHint));
  };
  if (pattern.size() > kLongestPattern) return refuse("too long");
  if (looks_ahead(pattern)) return refuse("lookahead");
  // One search from the beginning: std::regex_search would begin a new one at each place.
  const std::string anywhere = fmt::format("[^]*(?:{})", pattern);
  auto how = std::regex_constants::match_continuous;
  if (text.size() > kLongestMatched) {
    how |= std::regex_constants::match_not_eol;  // `$` is not where the text was cut
    text = text.substr(0, kLongestMatched);
  }
  try {
    // Alone first: a stray `)` must not close the group of `anywhere`.
    constexpr auto syntax = std::regex_constants::ECMAScript | std::regex_constants::__polynomial;
    const Regex alone(pattern.begin(), pattern.end(), syntax);
    return std::regex_search(text.begin(), text.end(), Regex(anywhere, syntax), how);
  } catch (const std::regex_error& problem) {
    return refuse(problem.what());
  }
}

}  // namespace lockstep
