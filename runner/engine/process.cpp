#include "engine/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

extern char** environ;

namespace lockstep {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  return Pipe{ends[0], ends[1]};
}

std::vector<std::string> merged_environment(
    const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(added.begin(), added.end(),
                                      [&](const auto& each) { return each.first == name; });
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Whether a process is of a session and alive; a zombie only waits for its parent.
bool lives_in(pid_t pid, pid_t session) {
  if (::getsid(pid) != session) return false;
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const std::size_t name = line.rfind(") ");
  return name != std::string::npos && line[name + 2] != 'Z' && line[name + 2] != 'X';
}

/// Kills every process of a session, again until there is none: one may fork meanwhile.
void kill_session(pid_t session) {
  for (int round = 0; round < 200; ++round) {
    bool found = false;
    DIR* all = ::opendir("/proc");
    if (all == nullptr) return;
    while (const dirent* entry = ::readdir(all)) {
      const pid_t pid = std::atoi(entry->d_name);
      if (pid > 1 && lives_in(pid, session)) found |= ::kill(pid, SIGKILL) == 0;
    }
    ::closedir(all);
    if (!found) return;
    ::usleep(10000);
  }
}

/// A process that outlives the runner by moments.  When the runner ends, however it ends, the
/// kernel kills its workers, but not what these have started; the guard does.
class Guard {
 public:
  static void add(pid_t session) { tell(session); }
  static void remove(pid_t session) { tell(-session); }

 private:
  static void tell(pid_t word) {
    static const int guard = start();
    // One that was killed is missed only where the runner is killed, too.
    if (guard >= 0 && ::write(guard, &word, sizeof word) < 0) return;
  }

  static int start() {
    const auto ends = make_pipe();
    if (!ends) return -1;
    const pid_t pid = ::fork();
    if (pid == 0) watch(ends->read);
    ::close(ends->read);
    ::fcntl(ends->write, F_SETFL, O_NONBLOCK);
    return ends->write;
  }

  [[noreturn]] static void watch(int runner) {
    ::setsid();  // nothing that is sent to the runner's group or terminal is for the guard
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) ::signal(signal, SIG_IGN);
    ::prctl(PR_SET_NAME, "guard");  // `killall lockstep` is not for it either
    ::dup2(runner, 0);
    ::closefrom(1);  // the end to write to above all, and locks and pipes of the runner
    std::set<pid_t> sessions;
    pid_t word = 0;
    while (::read(0, &word, sizeof word) == sizeof word) {
      if (word > 0) {
        sessions.insert(word);
      } else {
        sessions.erase(-word);
      }
    }
    for (const pid_t session : sessions) kill_session(session);
    ::_exit(0);
  }
};

}  // namespace

Result<Process> Process::start(const Command& command) {
  ::signal(SIGPIPE, SIG_IGN);
  auto to_child = make_pipe();
  if (!to_child) return tl::unexpected(to_child.error());
  auto from_child = make_pipe();
  if (!from_child) {
    ::close(to_child->read);
    ::close(to_child->write);
    return tl::unexpected(from_child.error());
  }
  // The child reports through this pipe why it could not execute the command; on success it is
  // closed by exec.
  auto trouble = make_pipe();
  if (!trouble) {
    for (const int fd : {to_child->read, to_child->write, from_child->read, from_child->write})
      ::close(fd);
    return tl::unexpected(trouble.error());
  }
  const int errors =
      ::open(command.stderr_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  std::vector<std::string> argv_texts = command.argv;
  std::vector<std::string> environment_texts = merged_environment(command.environment);
  std::vector<char*> argv = pointers(argv_texts);
  std::vector<char*> environment = pointers(environment_texts);
  const pid_t parent = ::getpid();

  const pid_t pid = ::fork();
  if (pid == 0) {  // only async-signal-safe calls from here to exec
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(to_child->read, STDIN_FILENO);
    ::dup2(from_child->write, STDOUT_FILENO);
    if (errors >= 0) ::dup2(errors, STDERR_FILENO);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGINT, SIG_DFL);
    ::execvpe(argv[0], argv.data(), environment.data());
    const int why = errno;
    if (::write(trouble->write, &why, sizeof why) < 0) ::_exit(126);
    ::_exit(127);
  }
  const int fork_error = errno;
  for (const int fd : {to_child->read, from_child->write, trouble->write, errors}) {
    if (fd >= 0) ::close(fd);
  }
  if (pid < 0) {
    for (const int fd : {to_child->write, from_child->read, trouble->read}) ::close(fd);
    return fail(fmt::format("cannot start {}: {}", command.argv[0], std::strerror(fork_error)));
  }
  Guard::add(pid);
  Process process(pid, to_child->write, from_child->read);
  ::fcntl(process.input_, F_SETFL, O_NONBLOCK);
  ::fcntl(process.output_, F_SETFL, O_NONBLOCK);
  int why = 0;
  const ssize_t count = ::read(trouble->read, &why, sizeof why);
  ::close(trouble->read);
  if (count == sizeof why) {
    return fail(fmt::format("cannot start {}: {}", command.argv[0], std::strerror(why)),
                why == ENOENT ? "is it installed, and is its folder in PATH?" : "");
  }
  return process;
}

Process::Process(Process&& other) noexcept { *this = std::move(other); }

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    release();
    pid_ = std::exchange(other.pid_, -1);
    input_ = std::exchange(other.input_, -1);
    output_ = std::exchange(other.output_, -1);
    status_ = std::exchange(other.status_, std::nullopt);
  }
  return *this;
}

Process::~Process() { release(); }

void Process::release() {
  if (pid_ > 0) {
    kill();
    kill_session(pid_);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    Guard::remove(pid_);
  }
  close_input();
  if (output_ >= 0) ::close(output_);
  pid_ = output_ = -1;
}

void Process::close_input() {
  if (input_ >= 0) ::close(input_);
  input_ = -1;
}

void Process::kill() {
  if (pid_ > 0) ::kill(-pid_, SIGKILL);
}

std::optional<int> Process::poll_status() {
  if (status_ || pid_ <= 0) return status_;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid == pid_) {
    const bool exited = info.si_code == CLD_EXITED;
    status_ = W_EXITCODE(exited ? info.si_status : 0, exited ? 0 : info.si_status);
  }
  return status_;
}

bool kill_group(pid_t leader) {
  const pid_t group = ::getpgid(leader);
  const bool gone = group < 0 && errno == ESRCH;
  if (leader <= 1 || leader == ::getpgrp() || (group != leader && !gone)) return false;
  ::kill(-leader, SIGKILL);
  return true;
}

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  return fmt::format("exited with {}", WEXITSTATUS(status));
}

}  // namespace lockstep
