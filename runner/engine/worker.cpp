#include "engine/worker.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace lockstep {

void WorkerConnection::send(const Json& message) {
  outgoing_ += message.dump(-1, ' ', false, Json::error_handler_t::replace);
  outgoing_ += '\n';
  incoming_.renew_quota();
  flush();
}

void WorkerConnection::flush() {
  while (!outgoing_.empty() && process_.input() >= 0) {
    const ssize_t count = ::write(process_.input(), outgoing_.data(), outgoing_.size());
    if (count > 0) {
      outgoing_.erase(0, static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      if (errno != EAGAIN) outgoing_.clear();  // it has closed its end; receive() sees the death
      return;
    }
  }
}

void WorkerConnection::refuse(const std::string& what) {
  if (fault_.empty()) fault_ = "broke the protocol: " + what;
}

std::vector<WorkerMessage> WorkerConnection::receive() {
  std::vector<WorkerMessage> messages;
  // Asked first, so that a dead worker's last words are read below.  What it left behind may hold
  // its output open for ever.
  const std::optional<int> death = process_.poll_status();
  char buffer[1 << 16];
  bool drained = false, end = false;
  for (std::size_t taken = 0; fault_.empty() && !drained && !end && taken < kMostAtOnce;) {
    const ssize_t count = ::read(process_.output(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    drained = count < 0 && errno == EAGAIN;
    end = count <= 0 && !drained;
    if (count <= 0) continue;
    taken += static_cast<std::size_t>(count);
    for (WorkerMessage& message : incoming_.take({buffer, static_cast<std::size_t>(count)}))
      messages.push_back(std::move(message));
    fault_ = incoming_.fault();
  }
  if (end) {
    // It closes its output at its death; the status follows within moments.
    std::optional<int> status;
    for (int i = 0; i < 200 && !(status = process_.poll_status()); ++i) ::usleep(5000);
    fault_ = status ? describe_wait_status(*status) : "closed its output";
  } else if (death && drained) {
    fault_ = describe_wait_status(*death);
  }
  return messages;
}

}  // namespace lockstep
