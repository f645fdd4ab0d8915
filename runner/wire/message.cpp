#include "wire/message.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <limits>

#include "base/bounded_json.h"
#include "base/text.h"
#include "wire/json_at.h"

namespace lockstep {
namespace {

using wire::broken;
using wire::JsonAt;

constexpr JsonBounds kLineBounds = {.bytes = kLongestLine, .depth = 16, .values = 1 << 16};
constexpr int kMostExit = 255;
constexpr int kMostInBatch = 1024;

void expect_strings(const JsonAt& message, const char* key) {
  if (!message.has(key)) return;
  const JsonAt list = message.at(key);
  for (std::size_t i = 0; i < list.array(); ++i) static_cast<void>(list.at(i).string());
}

int bounded_integer(const JsonAt& node, int least, int most) {
  const std::int64_t value = node.integer();
  if (value < least || value > most)
    node.wrong(fmt::format("an integer from {} to {}", least, most));
  return static_cast<int>(value);
}

/// What the rest of the program takes for granted about a `hello`.
void read_hello(const JsonAt& root, WorkerMessage& message) {
  message.kind = WorkerMessage::Kind::hello;
  message.hello = root.json;
  if (root.has("error")) {
    const Json& error = root.at("error").json;
    message.hello["error"] = one_line(plain_text(error));
    return;
  }
  if (root.at("protocol").integer() != 2) return;  // of which nothing is known; the engine says so
  if (root.has("concurrent") && root.at("concurrent").integer() < 1)
    root.at("concurrent").wrong("an integer of at least 1");
  if (root.has("batch")) {
    const JsonAt batch = root.at("batch").object();
    for (const auto& [kind, size] : batch.json.items())
      bounded_integer({size, child_pointer(batch.where, kind)}, 1, kMostInBatch);
  }
  for (const char* key : {"devices", "digests", "dtypes", "modes"}) expect_strings(root, key);
  if (!root.has("environment")) return;
  const JsonAt environment = root.at("environment").object();
  for (const auto& [name, value] : environment.json.items()) {
    const JsonAt entry{value, child_pointer(environment.where, name)};
    if (value.is_structured() || value.is_null()) entry.wrong("a string, a number or a boolean");
  }
  for (const char* key : {"torch", "operators_digest"}) {
    if (environment.has(key)) static_cast<void>(environment.at(key).string());
  }
}

void read_started(const JsonAt& root, WorkerMessage& message) {
  message.kind = WorkerMessage::Kind::started;
  if (!root.has("pid")) return;
  const Json& pid = root.at("pid").json;
  // Number 1 is the worker of a container, as it sees itself, and `kill(-1)` is everybody.
  if (!pid.is_number_integer() || pid <= 1 || pid > std::numeric_limits<pid_t>::max())
    broken("", "`pid` is no number of a process group");
  message.pid = pid.get<pid_t>();
}

void read_stage(const JsonAt& root, WorkerMessage& message) {
  message.kind = WorkerMessage::Kind::stage;
  message.stage = root.at("stage").string();
  if (std::find(kStages.begin(), kStages.end(), message.stage) == kStages.end())
    root.at("stage").wrong(fmt::format("one of {}", fmt::join(kStages, ", ")));
}

void read_ended(const JsonAt& root, WorkerMessage& message) {
  message.kind = WorkerMessage::Kind::ended;
  if (!root.has("exit") && !root.has("signal")) broken("", "neither `exit` nor `signal`");
  if (root.has("exit")) message.exit = bounded_integer(root.at("exit"), 0, kMostExit);
  if (root.has("signal")) message.signal = bounded_integer(root.at("signal"), 1, SIGRTMAX);
  if (root.has("error")) message.error = one_line(root.at("error").bounded_text());
}

WorkerMessage read_root(const JsonAt& root) {
  WorkerMessage message;
  const std::string type = root.object().at("type").string();
  if (type == "hello") {
    read_hello(root, message);
    return message;
  }
  if (type == "error") broken("", "it refused a message");
  if (type != "started" && type != "stage" && type != "ended")
    root.at("type").wrong("hello, started, stage or ended");
  message.run = root.at("run").integer();
  if (type == "started") read_started(root, message);
  if (type == "stage") read_stage(root, message);
  if (type == "ended") read_ended(root, message);
  return message;
}

}  // namespace

std::vector<std::string> strings_of(const Json& hello, const char* key) {
  std::vector<std::string> strings;
  for (const Json& each : hello.value(key, Json::array())) {
    if (each.is_string()) strings.push_back(each.get<std::string>());
  }
  return strings;
}

Result<WorkerMessage> read_message(std::string_view line) {
  return wire::unless_broken("message", [&] {
    const Result<Json> root = parse_bounded_json(line, kLineBounds);
    if (!root) throw wire::Broken{root.error().message};
    return read_root({*root, ""});
  });
}

}  // namespace lockstep
