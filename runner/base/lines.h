#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep {

/// Where bytes come from that are too many to be held: the next piece, which stays until the next
/// call; empty: there are no more.
using Pieces = std::function<Result<std::string_view>()>;

/// The pieces of a text, which has to stay: all of it.
Pieces pieces_of(std::string_view text);

/// The lines of what comes in pieces; none is held that is longer than it may be.
class LineReader {
 public:
  LineReader(Pieces pieces, std::size_t longest) : pieces_(std::move(pieces)), longest_(longest) {}

  /// The next line without its newline, which stays until the next call; nothing: there are no
  /// more.  What follows the last newline is no line: its writer was killed.  An Error of the
  /// pieces, or for a line that is too long.
  Result<std::optional<std::string_view>> next();

  /// How many lines there were, the one that was too long among them.
  std::size_t count() const { return count_; }
  /// How many bytes they have with their newlines, and, once there are no more, how many follow.
  std::size_t bytes() const { return bytes_; }
  std::size_t torn() const { return rest_.size(); }

 private:
  Pieces pieces_;
  std::size_t longest_, count_ = 0, bytes_ = 0;
  std::string_view piece_;  ///< what is left of the last one
  std::string rest_;        ///< the beginning of a line whose end is in another piece
  bool taken_ = false;      ///< `rest_` was a line, which is done with
};

}  // namespace lockstep
