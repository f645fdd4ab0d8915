#include "base/json_lines.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace lockstep {

void JsonLines::read(int wait) {
  constexpr int kMostPieces = 64;
  char bytes[1 << 16];
  pollfd polled{fd_, POLLIN, 0};
  for (int i = 0; i < kMostPieces && !ended_ && ::poll(&polled, 1, wait) > 0; ++i, wait = 0) {
    const ssize_t count = ::read(fd_, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    ended_ = count <= 0;
    if (count > 0) rest_.append(bytes, static_cast<std::size_t>(count));
  }
}

Result<std::optional<Json>> JsonLines::next() {
  const std::size_t newline = rest_.find('\n', searched_);
  searched_ = newline == std::string::npos ? rest_.size() : 0;
  if (newline == std::string::npos && rest_.size() <= bounds_.bytes) return std::nullopt;
  if (rest_.size() > bounds_.bytes && newline > bounds_.bytes)
    return fail(fmt::format("found a line of more than {} bytes, the most that a message may have",
                            grouped(bounds_.bytes)));
  const std::string line = rest_.substr(0, newline);
  rest_.erase(0, newline + 1);
  auto json = parse_bounded_json(line, bounds_);
  if (!json || !json->is_object())
    return fail(fmt::format("found `{}`, which is no message", one_line(line, 80)));
  return std::optional(std::move(*json));
}

}  // namespace lockstep
