#include "wire/message_reader.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"

namespace lockstep {

void MessageReader::take_line(std::string_view line, std::vector<WorkerMessage>& messages) {
  auto message = read_message(line);
  if (!message) {
    fault_ =
        fmt::format("broke the protocol: {}: {}", message.error().message, one_line(line, 120));
  } else if (message->kind == WorkerMessage::Kind::hello && std::exchange(greeted_, true)) {
    fault_ = "broke the protocol: a second hello, where the first one counts";
  } else {
    messages.push_back(std::move(*message));
  }
}

std::vector<WorkerMessage> MessageReader::take(std::string_view bytes) {
  std::vector<WorkerMessage> messages;
  if (!fault_.empty()) return messages;
  std::size_t searched = rest_.size();  // there is no end of a line in what was left over
  rest_ += bytes;
  bytes_ += bytes.size();
  std::size_t begin = 0;
  for (std::size_t newline;
       fault_.empty() && (newline = rest_.find('\n', searched)) != std::string::npos;
       begin = searched = newline + 1) {
    ++lines_;
    take_line(std::string_view(rest_).substr(begin, newline - begin), messages);
  }
  rest_.erase(0, begin);
  if (!fault_.empty()) return messages;
  if (rest_.size() > kLongestLine) {
    fault_ = fmt::format("broke the protocol: a line of more than {} bytes", grouped(kLongestLine));
  } else if (lines_ > kMostLines || bytes_ > kMostBytes) {
    fault_ = fmt::format(
        "broke the protocol: a flood, {} lines and {} bytes since anything was asked of it",
        grouped(lines_), grouped(bytes_));
  }
  return messages;
}

}  // namespace lockstep
