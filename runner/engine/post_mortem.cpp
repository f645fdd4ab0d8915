#include "engine/post_mortem.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstring>
#include <fstream>

#include "base/files.h"
#include "base/text.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Errors of allocators that reached a memory limit.
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

/// The line of an error that says that a file did not fit, or nothing; compilers of C++ say it in
/// the same words.
std::string line_on_space(const RaisedError& error) {
  const std::size_t at = error.message.find("No space left on device");
  if (at == std::string::npos) return "";
  const std::size_t begin = error.message.rfind('\n', at) + 1;  // of the text, where there is none
  return error.message.substr(begin, error.message.find('\n', at) - begin);
}

/// What to say before a bad end where the folder for tensors is full: what would tell why may not
/// have been written.
std::string remark_on_space(const fs::path& out) {
  constexpr std::uintmax_t kAlmostNone = std::uintmax_t{4} << 20;
  std::error_code error;
  const fs::space_info space = fs::space(out, error);
  if (error || space.available >= kAlmostNone) return "";
  return fmt::format("{} is full, {} of {} KiB are free (-j 1 needs less of it): ",
                     out.parent_path().string(), space.available / 1024, space.capacity / 1024);
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

namespace {

Observation observation_of(const End& end) {
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
  } else if (message.exit != 0 && !message.error.empty()) {
    // The worker names its own failure: a program may end with any status, also with these.
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
  } else if (auto read = read_observation(end.out, end.held)) {
    observation = std::move(*read);
    const bool memory = observation.error && tells_of_memory(*observation.error);
    if (observation.outcome == Outcome::raised && memory) {
      observation.outcome = Outcome::out_of_memory;
      observation.reason = one_line(observation.error->message);
    } else if (observation.outcome == Outcome::raised) {
      observation.reason = one_line(line_on_space(*observation.error));
      if (!observation.reason.empty()) observation.outcome = Outcome::lost;
    }
  } else {
    observation.outcome = Outcome::lost;
    observation.reason = "the worker wrote a broken observation: " + read.error().message;
  }
  return observation;
}

}  // namespace

Observation observe_end(const End& end) {
  Observation observation = observation_of(end);
  if (observation.outcome == Outcome::crashed || observation.outcome == Outcome::lost)
    observation.reason.insert(0, remark_on_space(end.out));
  return observation;
}

}  // namespace lockstep
