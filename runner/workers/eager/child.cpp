#include "workers/eager/child.h"

#include <ATen/Parallel.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "workers/eager/errors.h"
#include "workers/eager/execution.h"

namespace lockstep::eager {
namespace {

/// Puts a limit in force, or the hard one that this process has inherited, where that is less:
/// nobody may raise it.
void limit(int resource, std::uint64_t bytes) {
  const auto kind = static_cast<__rlimit_resource>(resource);
  rlimit value{};
  if (getrlimit(kind, &value) != 0) return;
  value.rlim_max = std::min<rlim_t>(value.rlim_max, bytes);  // RLIM_INFINITY is the greatest
  value.rlim_cur = value.rlim_max;
  setrlimit(kind, &value);
}

void detach(const Limits& limits, bool on_cpu, int parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExitNotWritten);  // It died before the line above.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);

  limit(RLIMIT_CORE, 0);
  if (limits.file_bytes > 0) limit(RLIMIT_FSIZE, limits.file_bytes);
  // Accelerator drivers reserve far more address space than they use.
  if (limits.memory_bytes > 0 && on_cpu) limit(RLIMIT_AS, limits.memory_bytes);
}

/// From now on standard output and error are the file `stderr` in a folder.
void redirect(const std::filesystem::path& folder) {
  const int text = open((folder / "stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (text < 0) return;
  dup2(text, STDERR_FILENO);
  dup2(text, STDOUT_FILENO);
  close(text);
}

/// The greatest memory counts from here on.  Where the kernel cannot do this it stays that of the
/// child.
void forget_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

void write_whole(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path unfinished = path.string() + ".tmp";
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  if (!(file << text).flush()) throw std::runtime_error("cannot write " + path.string());
  file.close();
  std::filesystem::rename(unfinished, path);
}

/// What has become of an execution.
struct ChildExit {
  int status = 0;
  bool clean = false;  ///< all went well: the next one may have the process
};

/// Tells the parent that this worker ended the execution, and not what was executed.
ChildExit fail(const std::filesystem::path& folder, const std::string& why, int status) {
  std::ofstream(folder / kFaultFile, std::ios::binary) << why;
  return {status};
}

ChildExit execute_and_write(const nlohmann::json& request, const DigestLibraries& digests,
                            int protocol_fd) {
  const std::filesystem::path folder = request["out"].get<std::string>();
  try {
    const auto tell = [&](const std::string& stage) {
      write_line(protocol_fd, {{"type", "stage"}, {"run", request["run"]}, {"stage", stage}});
    };
    const nlohmann::ordered_json observation = execute(request, folder, tell, digests);
    // Messages of torch may hold bytes that are no UTF-8, such as a name cut in the middle.
    write_whole(folder / "observation.json",
                observation.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return {0, observation["outcome"] == "returned"};
  } catch (const Malformed& error) {
    return fail(folder, std::string("the request breaks the protocol: ") + error.what(),
                kExitMalformed);
  } catch (const std::exception& error) {
    return fail(folder, std::string("no observation could be written: ") + error.what(),
                kExitNotWritten);
  }
}

}  // namespace

bool write_line(int fd, const nlohmann::ordered_json& message) {
  const std::string line =
      message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t count = write(fd, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

void run_child(const Batch& batch, const Limits& limits, int protocol_fd, int parent,
               Progress& progress) {
  const bool on_cpu = batch.front().value("device", nlohmann::json("cpu")) == "cpu";
  detach(limits, on_cpu, parent);
  for (std::size_t i = 0;; ++i) {
    const nlohmann::json& request = batch[i];
    // Before anything else of torch: the parent has one thread, and torch 2.15 aborts in autograd
    // where a forked child does not say how many it wants.
    at::set_num_threads(request.value("threads", limits.threads));
    const nlohmann::json& run = request["run"];
    write_line(protocol_fd, {{"type", "started"}, {"run", run}, {"pid", getpid()}});
    redirect(request["out"].get<std::string>());
    const ChildExit exit = execute_and_write(request, limits.digests, protocol_fd);
    std::fflush(nullptr);
    // An error may leave a device unusable, or memory short: what comes next gets a process that
    // has seen none.
    const bool last = i + 1 == batch.size();
    // No destructors: torch's take long, and what they would free ends here.
    if (last || !exit.clean) _exit(exit.status);
    write_line(protocol_fd, {{"type", "ended"}, {"run", run}, {"exit", 0}});
    progress.count_one();
    forget_peak_memory();
  }
}

}  // namespace lockstep::eager
