#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace lockstep {

/// What a Lockstep that executes parts of another one's run is told, as JSON lines on a descriptor:
/// first what run it is, then `{"items": [[FIRST, BEHIND], …]}`, places in the plan, again and
/// again.  Their end is that of the run.
class ChunkRequests {
 public:
  /// Waits for the first line.
  static Result<ChunkRequests> open(int fd);

  const Json& first() const { return first_; }
  /// The items of the requests that have come; never waits.  A request that names items which a
  /// plan of `size` does not have is an error.
  Result<std::vector<std::size_t>> take(std::size_t size);
  /// Whether no more will come.
  bool ended() const { return ended_; }

 private:
  explicit ChunkRequests(int fd) : fd_(fd) {}
  /// Reads what is there, or waits for something.
  void read(bool wait);
  /// The next whole line; nothing: there is none yet.
  bool take_line(std::string& line);

  int fd_;
  std::string rest_;
  Json first_;
  bool ended_ = false;
};

}  // namespace lockstep
