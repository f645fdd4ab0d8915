#include "engine/worker.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "base/text.h"

namespace lockstep {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;

}  // namespace

void WorkerConnection::send(const Json& message) {
  outgoing_ += message.dump(-1, ' ', false, Json::error_handler_t::replace);
  outgoing_ += '\n';
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

std::optional<WorkerMessage> WorkerConnection::decode(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  const auto integer = [&](const char* key) -> std::optional<std::int64_t> {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<std::int64_t>();
  };
  const auto breach = [&](std::string_view what) {
    fault_ = fmt::format("broke the protocol: {}: {}", what, one_line(line, 120));
    return std::nullopt;
  };
  if (!json.is_object() || !json.contains("type") || !json["type"].is_string())
    return breach("not a message");
  WorkerMessage message;
  const std::string type = json["type"].get<std::string>();
  if (type == "hello") {
    message.kind = WorkerMessage::Kind::hello;
    message.hello = json;
    return message;
  }
  if (type == "error") return breach("it refused a message");
  const auto run = integer("run");
  if (!run) return breach("no number of a run");
  message.run = *run;
  if (type == "started") {
    message.kind = WorkerMessage::Kind::started;
    if (const Json pid = json.value("pid", Json()); !pid.is_null()) {
      // Number 1 is the worker of a container, as it sees itself, and `kill(-1)` is everybody.
      if (!pid.is_number_integer() || pid <= 1 || pid > std::numeric_limits<pid_t>::max())
        return breach("`pid` is no number of a process group");
      message.pid = pid.get<pid_t>();
    }
    return message;
  }
  if (type == "stage") {
    if (!json.contains("stage") || !json["stage"].is_string()) return breach("no name of a stage");
    message.kind = WorkerMessage::Kind::stage;
    message.stage = json["stage"].get<std::string>();
    return message;
  }
  if (type == "ended") {
    message.kind = WorkerMessage::Kind::ended;
    const auto exit = integer("exit");
    const auto signal = integer("signal");
    if (!exit && !signal) return breach("neither `exit` nor `signal`");
    message.exit = static_cast<int>(exit.value_or(0));
    message.signal = static_cast<int>(signal.value_or(0));
    if (json.contains("error") && json["error"].is_string())
      message.error = one_line(json["error"].get<std::string>());
    return message;
  }
  return breach("an unknown message");
}

std::vector<WorkerMessage> WorkerConnection::receive() {
  std::vector<WorkerMessage> messages;
  // Asked first, so that a dead worker's last words are read below.  What it left behind may hold
  // its output open for ever.
  const std::optional<int> death = process_.poll_status();
  char buffer[1 << 16];
  bool end = false;
  while (fault_.empty() && !end) {
    const ssize_t count = ::read(process_.output(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    end = count <= 0;
    if (count > 0) incoming_.append(buffer, static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t newline;
         fault_.empty() && (newline = incoming_.find('\n', begin)) != std::string::npos;
         begin = newline + 1) {
      const std::string_view line = std::string_view(incoming_).substr(begin, newline - begin);
      if (auto message = decode(line)) messages.push_back(std::move(*message));
    }
    incoming_.erase(0, begin);
    if (incoming_.size() > kLongestLine) fault_ = "broke the protocol: a line of more than 1 MiB";
  }
  if (end && fault_.empty()) {
    // It closes its output at its death; the status follows within moments.
    std::optional<int> status;
    for (int i = 0; i < 200 && !(status = process_.poll_status()); ++i) ::usleep(5000);
    fault_ = status ? describe_wait_status(*status) : "closed its output";
  } else if (death && fault_.empty()) {
    fault_ = describe_wait_status(*death);
  }
  return messages;
}

}  // namespace lockstep
