#include "engine/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "engine/guard.h"

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

/// The pipes between runner and guard, and those that the worker gets.
struct Pipes {
  Pipe to_worker;
  Pipe from_worker;
  /// The worker says here why it could not execute the command; on success it is closed by exec.
  Pipe trouble;
  /// Nothing is ever written here: its end tells the guard that the worker is to end.
  Pipe lifeline;
  /// The worker's number, later its wait status.
  Pipe news;

  std::array<Pipe*, 5> all() { return {&to_worker, &from_worker, &trouble, &lifeline, &news}; }
};

void close_ends(Pipes& pipes) {
  for (const Pipe* pipe : pipes.all()) {
    for (const int fd : {pipe->read, pipe->write}) {
      if (fd >= 0) ::close(fd);
    }
  }
}

Result<Pipes> make_pipes() {
  Pipes pipes;
  for (Pipe* pipe : pipes.all()) {
    auto made = make_pipe();
    if (!made) {
      close_ends(pipes);
      return tl::unexpected(made.error());
    }
    *pipe = *made;
  }
  return pipes;
}

/// Becomes the worker.  Only async-signal-safe calls from here to exec.
[[noreturn]] void execute(const Pipes& pipes, int errors, char* const* argv,
                          char* const* environment, pid_t guard) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guard) ::_exit(127);
  ::dup2(pipes.to_worker.read, STDIN_FILENO);
  ::dup2(pipes.from_worker.write, STDOUT_FILENO);
  if (errors >= 0) ::dup2(errors, STDERR_FILENO);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGHUP, SIG_DFL);
  ::execvpe(argv[0], argv, environment);
  const int why = errno;
  if (::write(pipes.trouble.write, &why, sizeof why) < 0) ::_exit(126);
  ::_exit(127);
}

}  // namespace

Result<Process> Process::start(const Command& command) {
  ::signal(SIGPIPE, SIG_IGN);
  auto pipes = make_pipes();
  if (!pipes) return tl::unexpected(pipes.error());
  const int errors =
      ::open(command.stderr_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  std::vector<std::string> argv_texts = command.argv;
  std::vector<std::string> environment_texts = merged_environment(command.environment);
  std::vector<char*> argv = pointers(argv_texts);
  std::vector<char*> environment = pointers(environment_texts);

  const pid_t guard = ::fork();
  if (guard == 0) {
    prepare_guard();
    const pid_t self = ::getpid();
    const pid_t worker = ::fork();
    if (worker == 0) execute(*pipes, errors, argv.data(), environment.data(), self);
    watch_over(worker < 0 ? -errno : worker, pipes->lifeline.read, pipes->news.write);
  }
  const int fork_error = errno;
  const auto refuse = [&](int why) {
    return fail(fmt::format("cannot start {}: {}", command.argv[0], std::strerror(why)),
                why == ENOENT ? "is it installed, and is its folder in PATH?" : "");
  };
  if (guard < 0) {
    close_ends(*pipes);
    if (errors >= 0) ::close(errors);
    return refuse(fork_error);
  }
  for (const int fd : {pipes->to_worker.read, pipes->from_worker.write, pipes->trouble.write,
                       pipes->lifeline.read, pipes->news.write, errors}) {
    if (fd >= 0) ::close(fd);
  }
  Process process;
  process.guard_ = guard;
  process.lifeline_ = pipes->lifeline.write;
  process.news_ = pipes->news.read;
  process.input_ = pipes->to_worker.write;
  process.output_ = pipes->from_worker.read;
  const auto worker = heard_from(process.news_);
  int why = 0;
  const bool failed = ::read(pipes->trouble.read, &why, sizeof why) == sizeof why;
  ::close(pipes->trouble.read);
  if (!worker) return fail(fmt::format("cannot start {}: its guard is gone", command.argv[0]));
  if (*worker < 0) return refuse(-*worker);
  process.pid_ = *worker;
  if (failed) return refuse(why);
  for (const int fd : {process.input_, process.output_, process.news_})
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return process;
}

Process::Process(Process&& other) noexcept { *this = std::move(other); }

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    release();
    pid_ = std::exchange(other.pid_, -1);
    guard_ = std::exchange(other.guard_, -1);
    lifeline_ = std::exchange(other.lifeline_, -1);
    news_ = std::exchange(other.news_, -1);
    input_ = std::exchange(other.input_, -1);
    output_ = std::exchange(other.output_, -1);
    status_ = std::exchange(other.status_, std::nullopt);
  }
  return *this;
}

Process::~Process() { release(); }

void Process::release() {
  close_input();
  for (int* fd : {&lifeline_, &news_, &output_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
  if (guard_ > 0) {  // which now ends the worker and all that came of it, and then itself
    while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = guard_ = -1;
}

void Process::close_input() {
  if (input_ >= 0) ::close(input_);
  input_ = -1;
}

void Process::kill() {
  if (pid_ > 0) ::kill(-pid_, SIGKILL);
}

std::optional<int> Process::poll_status() {
  if (status_ || news_ < 0) return status_;
  int status = 0;
  const ssize_t count = ::read(news_, &status, sizeof status);
  if (count == sizeof status) status_ = status;
  if (count == 0) status_ = W_EXITCODE(0, SIGKILL);  // the guard was killed, and with it the worker
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
