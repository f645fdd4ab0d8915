#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "workers/eager/child.h"

namespace lockstep::eager {

/// The worker's parent process: reads the protocol on one descriptor, forks a child for each `run`
/// or `batch` and answers on another.  It stays single-threaded and executes nothing itself.
class Parent {
 public:
  /// `batch_on_cpu`: how many executions for the CPU one child takes.
  Parent(int input_fd, int output_fd, int batch_on_cpu = 1)
      : input_(input_fd), output_(output_fd), batch_on_cpu_(batch_on_cpu) {}

  /// Serves until `stop` or the end of the input; returns the exit status of the worker.
  int serve();

 private:
  struct Child {
    Batch batch;
    Progress progress;
  };

  void read_input();
  void handle(const std::string& line);
  void hello(const nlohmann::json& request);
  void start(const nlohmann::json& request);
  void start_batch(const nlohmann::json& request);
  void launch(Batch batch);
  void end_of(Child child, bool exited, int status);
  void reap();
  void kill_all();
  void say(const nlohmann::ordered_json& message);

  int input_;
  int output_;
  int batch_on_cpu_;
  int signals_ = -1;
  std::string buffer_;
  Limits limits_;
  bool greeted_ = false;
  bool stopping_ = false;     ///< no more requests; exit once nothing runs
  bool runner_gone_ = false;  ///< kill what runs, and exit
  int status_ = 0;
  std::unordered_map<int, Child> running_;  ///< by pid, which is the process group too
};

}  // namespace lockstep::eager
