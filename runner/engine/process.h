#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace lockstep {

/// What to start.
struct Command {
  std::vector<std::string> argv;                                 ///< argv[0] is searched in PATH
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to the runner's own
  std::filesystem::path stderr_file;  ///< standard error is appended to it
};

/// A child process in a session of its own, with pipes on its standard input and output.  It dies
/// with the runner: the kernel kills it when the thread that started it ends, so all processes are
/// started by the main thread.  What else is in its session dies with it, or moments later: also
/// when the runner is killed, the compilers that the process had started.
class Process {
 public:
  /// From now on the program ignores SIGPIPE: a worker that is gone is seen as an error of write().
  static Result<Process> start(const Command& command);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  /// Kills the session and reaps the process.
  ~Process();

  pid_t pid() const { return pid_; }
  int input() const { return input_; }    ///< to write to; non-blocking
  int output() const { return output_; }  ///< to read from; non-blocking
  void close_input();
  /// Kills the process and everything in its group.
  void kill();
  /// The wait status once it has ended; never waits.  It is reaped later, so that until then its
  /// number is nobody else's.
  std::optional<int> poll_status();

 private:
  Process(pid_t pid, int input, int output) : pid_(pid), input_(input), output_(output) {}
  void release();
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::optional<int> status_;
};

/// Kills the process group `leader` if that is one, and not the runner's own; false if it is not.
/// A leader that is gone may have left others in its group.
bool kill_group(pid_t leader);

/// "exited with 3", "was killed by signal 11 (Segmentation fault)".
std::string describe_wait_status(int status);

}  // namespace lockstep
