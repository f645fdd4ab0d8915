#include "engine/post_mortem.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

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

/// The line of a text that says that a file did not fit, or nothing; compilers of C++ say it in the
/// words of the system, too.
std::string line_on_space(const std::string& text) {
  for (const char* words : {"No space left on device", "Disk quota exceeded"}) {
    const std::size_t at = text.find(words);
    if (at == std::string::npos) continue;
    const std::size_t begin = text.rfind('\n', at) + 1;  // of the text, where there is none
    return text.substr(begin, text.find('\n', at) - begin);
  }
  return "";
}

/// The file systems that a compiler writes to and that are full: "/tmp (1,024 KiB)".
std::string full_places(const fs::path& out) {
  constexpr std::uintmax_t kAlmostNone = std::uintmax_t{4} << 20;
  std::vector<fs::path> places = {out.parent_path(), "/dev/shm"};
  for (const char* name : {"TORCHINDUCTOR_CACHE_DIR", "LOCKSTEP_CACHE", "TMPDIR"}) {
    if (const char* place = std::getenv(name); place != nullptr && *place != '\0')
      places.emplace_back(place);
  }
  places.emplace_back("/tmp");
  places.emplace_back(".");  // of a clone the cache is there
  std::string full;
  for (const fs::path& place : places) {
    std::error_code error;
    const fs::space_info space = fs::space(place, error);
    if (error || space.available >= kAlmostNone || full.find(place.string()) != std::string::npos)
      continue;
    full += fmt::format("{}{}, {} of {} KiB are free", full.empty() ? "" : "; ", place.string(),
                        space.available / 1024, space.capacity / 1024);
  }
  return full;
}

/// What to say of an execution that lacked room, by the words of whoever met it.
std::string lack_of_space(const std::string& line, const fs::path& out) {
  const std::string full = full_places(out);
  return one_line(fmt::format("a disk or a file system in memory is full{}: {}",
                              full.empty() ? "" : fmt::format(" ({})", full), line),
                  600);
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
      const RaisedError& raised = *observation.error;
      std::string line = line_on_space(raised.message);
      // What a compiler had printed says why it failed; a program may print what it likes.
      if (line.empty() && raised.kind == ErrorKind::internal) line = line_on_space(raised.detail);
      if (!line.empty()) {
        observation.outcome = Outcome::lost;
        observation.reason = lack_of_space(line, end.out);
      }
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
