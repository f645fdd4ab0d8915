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

/// A worker process in a session of its own, with pipes on its standard input and output. It and
/// all its descendants die with this object, or moments after the runner, even if the runner is
/// killed: a guard stands between the two (engine/guard.h).
class Process {
 public:
  /// From now on the program ignores SIGPIPE: a worker that is gone is seen as an error of write().
  static Result<Process> start(const Command& command);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  /// Ends the worker and everything that it left behind.
  ~Process();

  pid_t pid() const { return pid_; }
  int input() const { return input_; }    ///< to write to; non-blocking
  int output() const { return output_; }  ///< to read from; non-blocking
  void close_input();
  /// Kills the process and everything in its group.
  void kill();
  /// The wait status once it has ended; never waits.  Its number is nobody else's until this object
  /// ends.
  std::optional<int> poll_status();
  /// Whether a number is that of the worker or of its guard.
  bool is(pid_t pid) const { return pid > 0 && (pid == pid_ || pid == guard_); }

 private:
  Process() = default;
  void release();
  pid_t pid_ = -1;
  pid_t guard_ = -1;
  int lifeline_ = -1;
  int news_ = -1;
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
