#pragma once

#include <optional>
#include <string>

#include "base/bounded_json.h"
#include "base/json.h"
#include "base/result.h"

namespace lockstep {

/// JSON objects that come as lines on a descriptor, from whoever writes to it.
class JsonLines {
 public:
  JsonLines(int fd, const JsonBounds& bounds) : fd_(fd), bounds_(bounds) {}

  /// Reads what is there, a bounded part of it; where that is nothing, waits for it up to `wait`
  /// milliseconds, below 0 for ever.
  void read(int wait);
  /// The next line; nothing: no whole one has come.  An Error for what is no object within the
  /// bounds.
  Result<std::optional<Json>> next();
  /// Whether no more will come.
  bool ended() const { return ended_; }

 private:
  int fd_;
  JsonBounds bounds_;
  std::string rest_;
  std::size_t searched_ = 0;  ///< of `rest_`, in which there is no end of a line
  bool ended_ = false;
};

}  // namespace lockstep
