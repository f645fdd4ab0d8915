#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Whether `text` matches a glob: `*` any run of characters ('/' too), `?` one character;
/// everything else, brackets included, is itself (ids contain brackets).
bool glob_match(std::string_view pattern, std::string_view text);

/// Whether a glob has one of them, and so may match more than its own text.
bool has_wildcard(std::string_view glob);

/// Whether any of the globs matches.
bool any_glob_matches(std::span<const std::string> patterns, std::string_view text);

/// Whether the list takes a thing, of which `matches` says whether a glob means it: one does, or
/// all that it has begin with `!`, and none of those that begin with `!` means it by what follows.
/// An empty list takes everything.
template <std::predicate<std::string_view> Matches>
bool globs_take(std::span<const std::string> globs, Matches&& matches) {
  bool asked = false, met = false;
  for (const std::string_view glob : globs) {
    if (glob.starts_with('!')) {
      if (matches(glob.substr(1))) return false;
    } else {
      asked = true;
      met = met || matches(glob);
    }
  }
  return met || !asked;
}

/// Whether the list takes `text`, which a glob means by matching it.
bool globs_take(std::span<const std::string> globs, std::string_view text);

/// Whether `word` is one of them.
bool contains(std::span<const std::string> words, std::string_view word);

/// The candidate with the smallest edit distance to `text`, or empty when none is near enough to be
/// meant (more than a third of the length).
std::string nearest(std::string_view text, std::span<const std::string> candidates);

/// "a, b and c"; `last` joins the last word.
std::string enumerate(std::span<const std::string> words, std::string_view last = "and");

/// 10000 as "10,000".
std::string grouped(std::uint64_t number);

/// "and 1,234 more": of what a list leaves out.
std::string and_more(std::size_t left_out);

/// Seconds for people: "0.42 s", "12.3 s", "3 min 05 s".
std::string format_seconds(double seconds);

/// A word that a POSIX shell reads back as `text`; quoted only where needed.
std::string shell_quote(std::string_view text);

/// `text` with every invalid UTF-8 sequence replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

/// At most `limit` bytes of a text for one line of a message: control characters become spaces, a
/// cut is marked with "...".
std::string one_line(std::string_view text, std::size_t limit = 300);

}  // namespace lockstep
