#include "workers/eager/parent.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

#include "base/gold.h"
#include "workers/eager/environment.h"
#include "workers/eager/errors.h"
#include "workers/eager/gold.h"
#include "workers/eager/names.h"
#include "workers/eager/package.h"
#include "workers/eager/pins.h"

namespace lockstep::eager {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kProtocolVersion = 2;
constexpr int kConcurrentExecutions = 64;
// A context of a device costs as much as a hundred small executions.
constexpr int kBatchOnADevice = 32;

/// SIGCHLD as something that poll() sees; it stays blocked here, and children unblock it.
int child_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/// What a child left that this worker ended; empty where what it executed ended the process.
std::string fault_in(const std::string& folder) {
  constexpr std::size_t kMost = 4096;
  std::ifstream file(folder + "/" + kFaultFile, std::ios::binary);
  std::string text(kMost, '\0');
  file.read(text.data(), static_cast<std::streamsize>(kMost));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// What a `run` lacks that it cannot be answered without, or nothing.
std::string lacking(const json& request) {
  for (const char* key : {"run", "out", "program", "storages", "calls"}) {
    if (!request.contains(key)) return std::string("the request lacks `") + key + "`";
  }
  const json threads = request.value("threads", json(1));
  if (!threads.is_number_integer() || threads < 1 || threads > 4096)
    return "`threads` is not a number of threads";
  return request["out"].is_string() ? "" : "`out` is not a string";
}

json device_of(const json& request) { return request.value("device", json("cpu")); }

/// Why the `runs` of a batch cannot be executed, or nothing.
std::string fault_of(const json& runs) {
  if (!runs.is_array() || runs.empty()) return "`runs` of a batch is not a list of requests";
  for (const json& run : runs) {
    const std::string why = run.is_object() ? lacking(run) : "a request is not an object";
    if (!why.empty()) return "a batch: " + why;
    if (device_of(run) != device_of(runs.front())) return "a batch: it is for several devices";
  }
  return "";
}

/// `batch` of `hello`: On the CPU a child for each execution is cheap, and keeps its memory from
/// the next one. So batches on the CPU must be asked for when the worker starts.
ordered_json offered_batches(const std::vector<std::string>& devices, int batch_on_cpu) {
  ordered_json offered = ordered_json::object();
  if (batch_on_cpu > 1) offered["cpu"] = batch_on_cpu;
  for (const std::string& device : devices) {
    if (device != "cpu") offered[device.substr(0, device.find(':'))] = kBatchOnADevice;
  }
  return offered;
}

}  // namespace

int Parent::serve() {
  signal(SIGPIPE, SIG_IGN);  // A runner that is gone is seen as an error of write().
  signal(SIGINT, SIG_IGN);  // Ctrl-C reaches every process; what it means is the runner's decision.
  signals_ = child_signals();
  if (signals_ < 0) {
    say({{"type", "hello"},
         {"protocol", kProtocolVersion},
         {"error", std::string("no signalfd: ") + std::strerror(errno)}});
    return 1;
  }
  while (!runner_gone_ && !(stopping_ && running_.empty())) {
    pollfd watched[2] = {{signals_, POLLIN, 0}, {stopping_ ? -1 : input_, POLLIN, 0}};
    if (poll(watched, 2, -1) < 0 && errno != EINTR) break;
    if (watched[0].revents) reap();
    if (watched[1].revents) read_input();
  }
  kill_all();
  return status_;
}

void Parent::read_input() {
  char chunk[65536];
  const ssize_t count = read(input_, chunk, sizeof chunk);
  if (count < 0 && errno == EINTR) return;
  if (count <= 0) {
    runner_gone_ = true;
    return;
  }
  buffer_.append(chunk, static_cast<std::size_t>(count));
  std::size_t start = 0;
  for (std::size_t end; !stopping_ && (end = buffer_.find('\n', start)) != std::string::npos;
       start = end + 1) {
    handle(buffer_.substr(start, end - start));
  }
  buffer_.erase(0, start);
}

void Parent::handle(const std::string& line) {
  const json request = json::parse(line, nullptr, /*allow_exceptions=*/false);
  const std::string type =
      request.is_object() ? request.value("type", json("")).dump() : std::string();
  if (type == "\"hello\"") return hello(request);
  if (type == "\"run\"") return start(request);
  if (type == "\"batch\"") return start_batch(request);
  if (type == "\"stop\"") {
    stopping_ = true;
    return;
  }
  say({{"type", "error"}, {"error", "neither hello, run, batch nor stop: " + line.substr(0, 200)}});
}

void Parent::hello(const json& request) {
  const auto began = std::chrono::steady_clock::now();
  ordered_json answer = {{"type", "hello"}, {"protocol", kProtocolVersion}};
  try {
    if (request.at("protocol") != kProtocolVersion) {
      throw Malformed("this worker speaks protocol 2; use a lockstep of the same release");
    }
    limits_.threads = request.value("threads", 1);
    if (limits_.threads < 1) throw Malformed("`threads` must be at least 1");
    const json limits = request.value("limits", json::object());
    limits_.memory_bytes = limits.value("memory_bytes", std::uint64_t{0});
    limits_.file_bytes = limits.value("file_bytes", std::uint64_t{0});
    limits_.digests = request.value("digests", DigestLibraries());
    pin();
    load_libraries(request.value("libraries", std::vector<std::string>()));
    warm_up();
    answer["worker"] = "lockstep-eager";
    answer["concurrent"] = kConcurrentExecutions;
    answer["environment"] = environment();
    const std::vector<std::string> found = devices();
    answer["devices"] = found;
    answer["cpu_levels"] = cpu_levels();
    answer["batch"] = offered_batches(found, batch_on_cpu_);
    answer["digests"] = ordered_json::array();
    for (const auto& [kind, file] : limits_.digests) answer["digests"].push_back(kind);
    answer["dtypes"] = ordered_json::array();
    for (const c10::ScalarType type : all_dtypes()) answer["dtypes"].push_back(dtype_name(type));
    answer["modes"] = {kPlainMode};
    for (const GoldInfo& gold : all_golds()) answer["modes"].push_back(gold.name);
    answer["modes"].push_back(kPackageMode);
    answer["seconds"] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    greeted_ = true;
  } catch (const std::exception& error) {
    answer["error"] = error.what();
    stopping_ = true;
    status_ = 1;
  }
  say(answer);
}

void Parent::start(const json& request) {
  const std::string why = greeted_ ? lacking(request) : "a run before hello";
  if (why.empty()) return launch(Batch{request});
  say({{"type", "ended"},
       {"run", request.value("run", json())},
       {"exit", kExitMalformed},
       {"error", why}});
}

void Parent::start_batch(const json& request) {
  const json runs = request.value("runs", json());
  const std::string why = greeted_ ? fault_of(runs) : "a batch before hello";
  if (why.empty()) return launch(runs.get<Batch>());
  say({{"type", "error"}, {"error", why}});
}

/// Forks a child for what is not done yet of a batch.
void Parent::launch(Batch batch) {
  const pid_t parent = getpid();
  Progress progress;
  const pid_t pid = fork();
  if (pid < 0) {
    const std::string why = std::string("cannot fork: ") + std::strerror(errno);
    for (const json& request : batch) {
      say({{"type", "ended"}, {"run", request["run"]}, {"exit", kExitNotWritten}, {"error", why}});
    }
    return;
  }
  if (pid == 0) {
    close(signals_);
    run_child(batch, limits_, output_, parent, progress);
  }
  // Both sides do this, so that the group exists whoever comes first.
  setpgid(pid, pid);
  running_.emplace(pid, Child{std::move(batch), std::move(progress)});
}

/// Says how the execution ended that a child has ended with, and goes on with those after it.
void Parent::end_of(Child child, bool exited, int status) {
  // The number comes from a process in which anything may have happened.
  const std::size_t index = std::min(child.progress.ended(), child.batch.size() - 1);
  const json& request = child.batch[index];
  ordered_json ended = {{"type", "ended"}, {"run", request["run"]}};
  ended[exited ? "exit" : "signal"] = status;
  if (exited && status != 0) {
    const std::string fault = fault_in(request["out"].get<std::string>());
    if (!fault.empty()) ended["error"] = fault;
  }
  say(ended);
  child.batch.erase(child.batch.begin(),
                    child.batch.begin() + static_cast<std::ptrdiff_t>(index) + 1);
  if (!child.batch.empty() && !runner_gone_) launch(std::move(child.batch));
}

void Parent::reap() {
  signalfd_siginfo ignored;
  while (read(signals_, &ignored, sizeof ignored) > 0) {
  }
  struct End {
    Child child;
    bool exited;
    int status;
  };
  std::vector<End> ends;
  for (auto entry = running_.begin(); entry != running_.end();) {
    const int pid = entry->first;
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid == 0) {
      ++entry;
      continue;
    }
    // While the leader is a zombie its number cannot belong to another group.
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    ends.push_back({std::move(entry->second), info.si_code == CLD_EXITED, info.si_status});
    entry = running_.erase(entry);
  }
  for (End& end : ends) end_of(std::move(end.child), end.exited, end.status);
}

void Parent::kill_all() {
  for (const auto& [pid, child] : running_) kill(-pid, SIGKILL);
  for (const auto& [pid, child] : running_) waitpid(pid, nullptr, 0);
  running_.clear();
}

void Parent::say(const ordered_json& message) {
  if (!write_line(output_, message)) runner_gone_ = true;
}

}  // namespace lockstep::eager
