#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "wire/message.h"

namespace lockstep {

/// Makes messages from the bytes of a worker, which come in pieces of any size.  What breaks the
/// protocol ends it: a line that is no message or is too long, a second hello, a flood.
class MessageReader {
 public:
  /// What a worker may say until the runner says something or an execution ends.  More is a flood:
  /// an execution says a handful of lines, and at most some hundred executions are under way.
  static constexpr std::size_t kMostLines = std::size_t{1} << 14;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 24;

  /// The messages that these bytes complete; none after a fault.
  std::vector<WorkerMessage> take(std::string_view bytes);
  /// The runner has sent a message, which may be answered, or has had an answer that it waited for.
  void renew_quota() { lines_ = bytes_ = 0; }
  /// How the worker broke the protocol, or empty.
  const std::string& fault() const { return fault_; }

 private:
  void take_line(std::string_view line, std::vector<WorkerMessage>& messages);

  std::string rest_;       ///< the beginning of a line
  std::size_t lines_ = 0;  ///< since the quota was renewed
  std::size_t bytes_ = 0;
  bool greeted_ = false;
  std::string fault_;
};

}  // namespace lockstep
