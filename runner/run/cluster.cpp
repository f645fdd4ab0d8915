#include "run/cluster.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "base/bounded_json.h"
#include "base/text.h"
#include "engine/post_mortem.h"

namespace lockstep {
namespace {

/// Of a message: lines of a log as strings, in which escapes take twice their room.
constexpr JsonBounds kMessageBounds = {.bytes = 64 << 20, .depth = 16, .values = 1 << 16};
/// Seconds that the bridge may take to end what runs for it.
constexpr int kGoodbye = 15;

constexpr const char* kGoOn = "`run --resume DIR` goes on; DIR is the directory of this run";

}  // namespace

Result<Cluster> Cluster::connect(const ClusterOptions& options, const std::filesystem::path& log,
                                 Dispatcher& dispatcher) {
  auto process = Process::start({options.bridge, {}, log});
  if (!process) return tl::unexpected(process.error());
  Cluster cluster(std::move(*process), log, dispatcher, options.patience);
  cluster.to_send_ = options.begin.dump() + '\n';
  return cluster;
}

Cluster::~Cluster() {
  if (process_.input() < 0) return;  // moved from
  process_.close_input();
  char unread[1 << 12];
  for (int i = 0; i < kGoodbye * 20 && !process_.poll_status(); ++i) {
    while (::read(process_.output(), unread, sizeof unread) > 0) {
    }
    ::poll(nullptr, 0, 50);
  }
}

Result<void> Cluster::step(double seconds) {
  dispatcher_->send = [this](const Json& message) { to_send_ += message.dump() + '\n'; };
  flush();
  pollfd polled[] = {{process_.output(), POLLIN, 0}, {process_.input(), POLLOUT, 0}};
  ::poll(polled, to_send_.empty() ? 1 : 2, static_cast<int>(std::ceil(seconds * 1000)));
  flush();
  if (auto heard = hear(); !heard) return heard;
  const std::string why = dispatcher_->unusable();
  const Clock::time_point now = Clock::now();
  if (why.empty()) usable_ = now;
  if (!why.empty() && std::chrono::duration<double>(now - usable_).count() >= patience_)
    return fail("no machine of the cluster can be used", why);
  return {};
}

void Cluster::flush() {
  while (!to_send_.empty()) {
    const ssize_t count = ::write(process_.input(), to_send_.data(), to_send_.size());
    if (count <= 0) return;  // full, or gone, which its output shows
    to_send_.erase(0, static_cast<std::size_t>(count));
  }
}

Result<void> Cluster::hear() {
  char bytes[1 << 16];
  ssize_t count = 0;
  std::size_t searched = rest_.size();  // there is no end of a line in what was left over
  // A machine that floods is read only for so long at a time.
  for (int i = 0; i < 64 && (count = ::read(process_.output(), bytes, sizeof bytes)) > 0; ++i)
    rest_.append(bytes, static_cast<std::size_t>(count));
  std::size_t begin = 0;
  for (std::size_t newline; (newline = rest_.find('\n', searched)) != std::string::npos;
       begin = searched = newline + 1) {
    const std::string_view line = std::string_view(rest_).substr(begin, newline - begin);
    const auto message = parse_bounded_json(line, kMessageBounds);
    if (!message || !message->is_object())
      return fail(fmt::format("the bridge to the cluster says `{}`, which is no message",
                              one_line(line, 80)),
                  kGoOn);
    if (auto heard = dispatcher_->hear(*message); !heard) return heard;
  }
  rest_.erase(0, begin);
  if (rest_.size() > kMessageBounds.bytes)
    return fail(
        fmt::format("the bridge to the cluster says more than {} bytes in one line, the most "
                    "that a message may have",
                    grouped(kMessageBounds.bytes)),
        kGoOn);
  if (count == 0) {
    std::optional<int> status;
    for (int i = 0; i < 100 && !(status = process_.poll_status()); ++i) ::poll(nullptr, 0, 20);
    return fail(fmt::format("the bridge to the cluster {}; the end of {}:\n{}",
                            status ? describe_wait_status(*status) : "is silent", log_.string(),
                            tail_of(log_)),
                kGoOn);
  }
  return {};
}

}  // namespace lockstep
