#include "run/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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
    ::setpgid(0, 0);
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
  ::setpgid(pid, pid);  // by both sides, so that neither has to wait for the other
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
    int status = 0;
    while (!status_ && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
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
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
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
