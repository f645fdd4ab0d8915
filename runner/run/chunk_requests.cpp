#include "run/chunk_requests.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/bounded_json.h"
#include "base/text.h"

namespace lockstep {
namespace {

constexpr JsonBounds kRequestBounds = {.bytes = 64 << 20, .depth = 16, .values = 1 << 22};

}  // namespace

Result<ChunkRequests> ChunkRequests::open(int fd) {
  ChunkRequests requests(fd);
  std::string line;
  while (!requests.take_line(line)) {
    if (requests.ended_)
      return fail("found the end of standard input, expected a line that says which run it is",
                  "`run --on` starts this command");
    requests.read(true);
  }
  auto first = parse_bounded_json(line, kRequestBounds);
  if (!first || !first->is_object())
    return fail(fmt::format("found {} on standard input, expected an object that says which run it "
                            "is",
                            one_line(line, 60)),
                "`run --on` starts this command");
  requests.first_ = std::move(*first);
  return requests;
}

Result<std::vector<std::size_t>> ChunkRequests::take(std::size_t size) {
  read(false);
  std::vector<std::size_t> items;
  for (std::string line; take_line(line);) {
    const Json request = parse_bounded_json(line, kRequestBounds).value_or(Json());
    const Json ranges = request.is_object() ? request.value("items", Json()) : Json();
    bool means = ranges.is_array();
    for (const Json& range : means ? ranges : Json::array()) {
      means = means && range.is_array() && range.size() == 2 && range[0].is_number_unsigned() &&
              range[1].is_number_unsigned() && range[0] <= range[1] &&
              range[1].get<std::size_t>() <= size;
      if (!means) break;
      for (auto i = range[0].get<std::size_t>(); i < range[1].get<std::size_t>(); ++i)
        items.push_back(i);
    }
    if (!means)
      return fail(fmt::format("found the order {}, expected items of a plan of {}",
                              one_line(line, 60), size));
  }
  return items;
}

void ChunkRequests::read(bool wait) {
  pollfd polled{fd_, POLLIN, 0};
  while (!ended_ && ::poll(&polled, 1, wait ? -1 : 0) > 0) {
    char bytes[1 << 16];
    const ssize_t count = ::read(fd_, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) return;
    ended_ = count <= 0;
    if (count > 0) rest_.append(bytes, static_cast<std::size_t>(count));
    wait = false;
  }
}

bool ChunkRequests::take_line(std::string& line) {
  const std::size_t newline = rest_.find('\n');
  if (newline == std::string::npos) return false;
  line = rest_.substr(0, newline);
  rest_.erase(0, newline + 1);
  return true;
}

}  // namespace lockstep
