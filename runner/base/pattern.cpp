#include "base/pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"

namespace lockstep {

Result<bool> is_found(std::string_view pattern, std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(fmt::format("cannot match \"{}\": {}", one_line(pattern, 100), why),
                fmt::format("`match` is a regular expression as RE2 reads it, of at most {} "
                            "characters: no back-references, lookahead or lookbehind",
                            kLongestPattern));
  };
  if (pattern.size() > kLongestPattern) return refuse("too long");
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 expression(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!expression.ok()) return refuse(expression.error());
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression);
}

}  // namespace lockstep
