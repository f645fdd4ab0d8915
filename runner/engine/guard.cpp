#include "engine/guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace lockstep {
namespace {

constexpr int kLifeline = 0;
constexpr int kNews = 1;

// How often the rest is killed again, since a process may fork meanwhile. A process that cannot be
// killed (it waits for a driver) must not hold the runner for ever.
constexpr int kMostRounds = 1000;

/// The signal that a child has ended.
sigset_t child_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

void tell(int number) {
  if (::write(kNews, &number, sizeof number) < 0) return;  // a runner that is gone needs no news
}

/// The parent of the process whose folder in /proc this is; 0 if it has ended.
pid_t parent_of(int proc, const char* name) {
  const int folder = ::openat(proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int file = ::openat(folder, "stat", O_RDONLY | O_CLOEXEC);
  char text[256] = {};  // "17 (a name, of any characters) S 4 …"
  if (::read(file, text, sizeof text - 8) < 0) text[0] = '\0';
  ::close(file);
  ::close(folder);
  const char* name_end = std::strrchr(text, ')');
  return name_end == nullptr ? 0 : std::atoi(name_end + 4);
}

void kill_children(pid_t self) {
  const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  alignas(dirent64) char entries[4096];
  ssize_t bytes = 0;
  while ((bytes = ::getdents64(proc, entries, sizeof entries)) > 0) {
    for (ssize_t at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      const pid_t pid = std::atoi(entry->d_name);
      if (pid > 1 && parent_of(proc, entry->d_name) == self) ::kill(pid, SIGKILL);
      at += entry->d_reclen;
    }
  }
  ::close(proc);
}

/// Reaps what has ended of that which was left behind; true once the worker has ended, whose status
/// is told.  The worker itself stays a zombie, so that its number is nobody else's.
bool reap(pid_t worker) {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
      return false;
    if (info.si_pid == worker) {
      const bool exited = info.si_code == CLD_EXITED;
      tell(W_EXITCODE(exited ? info.si_status : 0, exited ? 0 : info.si_status));
      return true;
    }
    ::waitpid(info.si_pid, nullptr, 0);
  }
}

/// Kills the worker and what came of it.  What a process leaves behind becomes a child of this one
/// as it ends, so that nothing is left where there is no child.
[[noreturn]] void end_all(pid_t worker) {
  const pid_t self = ::getpid();
  ::kill(-worker, SIGKILL);
  for (int round = 0; round < kMostRounds; ++round) {
    kill_children(self);
    pid_t reaped = 0;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0 && errno == ECHILD) break;
    ::usleep(1000);
  }
  ::_exit(0);
}

}  // namespace

void prepare_guard() {
  ::setsid();  // nothing that is sent to the runner's group or terminal is for the guard
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const sigset_t set = child_signal();
  ::sigprocmask(SIG_SETMASK, &set, nullptr);
}

void watch_over(pid_t worker, int lifeline, int news) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE})
    ::signal(signal, SIG_IGN);
  ::prctl(PR_SET_NAME, "guard");  // `killall lockstep` is not for it either
  lifeline = ::fcntl(lifeline, F_DUPFD, kNews + 1);
  ::dup2(news, kNews);
  ::dup2(lifeline, kLifeline);
  ::closefrom(kNews +
              1);  // ends of other guards' pipes above all, and locks and pipes of the runner
  tell(worker);
  if (worker < 0) ::_exit(0);
  const sigset_t set = child_signal();
  int ends = ::signalfd(-1, &set, SFD_NONBLOCK);
  while (true) {
    pollfd watched[2] = {{kLifeline, POLLIN, 0}, {ends, POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) break;
    if (watched[0].revents != 0) break;
    if (watched[1].revents == 0) continue;
    signalfd_siginfo ignored;
    while (::read(ends, &ignored, sizeof ignored) > 0) {
    }
    if (reap(worker)) ends = -1;  // there is nothing more to tell
  }
  end_all(worker);
}

std::optional<int> heard_from(int news) {
  int number = 0;
  ssize_t count = 0;
  do {
    count = ::read(news, &number, sizeof number);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof number) return std::nullopt;
  return number;
}

}  // namespace lockstep
