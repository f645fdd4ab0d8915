#include "run/end.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstring>
#include <fstream>

#include "base/files.h"
#include "base/text.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

// Exit statuses by which a worker says that the request, or it itself, is at fault (PROTOCOL.md).
constexpr int kMalformed = 64;
constexpr int kInternal = 70;

/// Errors by which an allocator says that a memory limit was reached.
bool tells_of_memory(const RaisedError& error) {
  if (error.class_name == "MemoryError" || error.class_name.ends_with("OutOfMemoryError"))
    return true;
  // libtorch's allocator, C++'s, and the two of gcc.
  for (const char* words : {"can't allocate memory", "std::bad_alloc", "virtual memory exhausted",
                            "out of memory allocating"}) {
    if (error.message.find(words) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::int64_t oom_kills() {
  std::ifstream file("/proc/vmstat");
  std::string key;
  std::int64_t value = 0;
  while (file >> key >> value) {
    if (key == "oom_kill") return value;
  }
  return 0;
}

std::string tail_of(const fs::path& file) {
  constexpr std::size_t kTail = 8192;
  const auto end = read_end_of_file(file, kTail);
  if (!end) return "";
  return (end->cut ? "[...]\n" : "") + valid_utf8(end->bytes);
}

Observation observe_end(const End& end) {
  const WorkerMessage& message = end.message;
  Observation observation;
  observation.stage = end.stage;
  observation.signal = message.signal;
  if (end.killed) {
    observation.outcome = Outcome::timed_out;
    observation.reason =
        fmt::format("not done after {} in the stage `{}`", format_seconds(end.limit), end.stage);
  } else if (message.signal == SIGKILL && oom_kills() > end.oom_kills_before) {
    observation.outcome = Outcome::out_of_memory;
    observation.reason = "the kernel killed it for want of memory";
  } else if (message.signal != 0) {
    observation.outcome = Outcome::crashed;
    observation.reason = fmt::format("killed by signal {} ({}) in the stage `{}`", message.signal,
                                     ::strsignal(message.signal), end.stage);
  } else if (message.exit == kMalformed || message.exit == kInternal) {
    observation.outcome = Outcome::lost;
    observation.reason = "the worker failed: " + message.error;
  } else if (message.exit != 0) {
    observation.outcome = Outcome::crashed;
    observation.reason = fmt::format("exited with {} in the stage `{}`", message.exit, end.stage);
  } else if (std::error_code error; !fs::exists(end.out / "observation.json", error)) {
    // What was executed ended the process, before the worker could write.
    observation.outcome = Outcome::crashed;
    observation.reason =
        fmt::format("exited with 0 in the stage `{}`, without an observation", end.stage);
  } else if (auto read = read_observation(end.out)) {
    observation = std::move(*read);
    const bool memory = observation.error && tells_of_memory(*observation.error);
    if (observation.outcome == Outcome::raised && memory) {
      observation.outcome = Outcome::out_of_memory;
      observation.reason = one_line(observation.error->message);
    }
  } else {
    observation.outcome = Outcome::lost;
    observation.reason = "the worker wrote a broken observation: " + read.error().message;
  }
  return observation;
}

}  // namespace lockstep
