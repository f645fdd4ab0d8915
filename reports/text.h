#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

/// `text`, which may come from a compiler, a kernel or a stranger's case, as something that is safe
/// to show: invalid UTF-8 becomes U+FFFD; terminal sequences, control characters but newline and
/// tab, noncharacters and marks that reorder a line are dropped; a line ends in \n alone; and it is
/// disarmed.
std::string clean(std::string_view text);

/// `text` without what those take for a command who read the log of a job: `::` of GitHub's at the
/// beginning of a line, `##[` and `##vso[` of Azure's, `##teamcity[`, and `section_start:` of
/// GitLab's are broken by a blank.
std::string disarmed(std::string_view text);

/// Valid UTF-8 of at most about `limit` bytes: a longer text keeps its beginning and its end, where
/// errors usually say what happened. Between them stand a line with the size of the gap, and the
/// lines that g++ marks with "error:".
std::string cut(std::string text, std::size_t limit);

/// How many columns valid UTF-8 takes on a terminal; one for each code point is near enough for ids
/// and messages.
std::size_t columns(std::string_view text);

/// The lines of `text` broken at blanks so that each has at most `width` columns where its words
/// allow it; what goes on is indented by four more than its line.  Lines with `ci/lockstep` or
/// another `lockstep` command stay whole, for they are to be copied.  Sequences that set a look
/// take no column.  0: as it is.
std::string wrapped(const std::string& text, std::size_t width);

/// At most `width` columns of one line; a longer one loses its end to "…".
std::string cut_columns(std::string_view text, std::size_t width);

}  // namespace lockstep
