#include "base/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace lockstep {

Pieces pieces_of(std::string_view text) {
  return [text]() mutable -> Result<std::string_view> { return std::exchange(text, {}); };
}

Result<std::optional<std::string_view>> LineReader::next() {
  if (std::exchange(taken_, false)) rest_.clear();
  while (true) {
    const std::size_t end = piece_.find('\n');
    if (rest_.size() + std::min(end, piece_.size()) > longest_) {
      ++count_;
      return fail(fmt::format("this line has more than {} bytes, the most that one may have",
                              grouped(longest_)));
    }
    if (end != std::string_view::npos) {
      ++count_;
      std::string_view line = piece_.substr(0, end);
      piece_.remove_prefix(end + 1);
      if (!rest_.empty()) {
        rest_ += line;
        line = rest_;
        taken_ = true;
      }
      bytes_ += line.size() + 1;
      return line;
    }
    rest_ += piece_;
    const auto more = pieces_();
    if (!more) return tl::unexpected(more.error());
    if (more->empty()) {
      piece_ = {};
      return std::optional<std::string_view>();
    }
    piece_ = *more;
  }
}

}  // namespace lockstep
