#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/executor.h"
#include "judge/judge.h"
#include "plan/plan.h"

namespace lockstep {

/// What a scheduler needs to know of its surroundings.
struct SchedulerOptions {
  std::size_t jobs = 1;
  std::filesystem::path scratch;
  WorkerSpec eager;
  /// The worker of a path.
  std::function<WorkerSpec(const Path&)> worker_of;
  std::string torch;           ///< version of the reference, for `requires`
  int repeat = 2;              ///< calls within one execution
  int executions = 1;          ///< of every item on its path; the worst one counts
  std::filesystem::path keep;  ///< where the tensors of failing outputs go; empty: nowhere
};

/// Takes each instance of a plan through its executions: prepare, eager, every path, golds where
/// something differs; and has the judge speak.  Batches are begun in the order of the plan, a few
/// at a time; each path executes a batch as one program first (plan/share.h).
class Scheduler {
 public:
  /// `skip` holds the ids of items that need no execution (they are in the log that a run resumes).
  Scheduler(const Plan& plan, Executor& executor, SchedulerOptions options, std::vector<bool> skip);
  ~Scheduler();

  /// Called with each verdict when it is there, in no particular order.
  std::function<void(Verdict)> on_verdict;

  /// Called with what a person should know and no verdict says: tensors that cannot be kept.
  std::function<void(const std::string&)> on_note;

  /// Begins what there is room for.  Call it until `done`, with Executor::step in between.
  void advance();
  bool done() const;

 private:
  struct Task;
  struct Pending;
  struct Gold;
  struct Batch;
  struct Member;

  void begin_batch();
  void begin(Task& task);
  void write_inputs_of(Task& task, const Observation* prepared);
  void submit_eager(Task& task);
  void eager_known(Task& task);
  void submit_paths(Batch& batch);
  void submit_joint(std::vector<Member> members);
  void submit_path(Task& task, Pending& pending);
  void judged(Task& task, Pending& pending, Verdict verdict);
  void need_gold(Task& task, Pending& pending, std::size_t index);
  void judge_item(Task& task, Pending& pending);
  void judge_waiting(Task& task);
  void give_up(Task& task, Status status, const std::string& reason);
  void emit(Task& task, Pending& pending, Verdict verdict);
  void clear_finished();
  Json run_message(const Task& task, const std::string& mode, int repeat, const Json& path) const;

  const Plan& plan_;
  Executor& executor_;
  SchedulerOptions options_;
  std::vector<bool> skip_;
  std::size_t next_instance_ = 0;
  std::size_t next_item_ = 0;
  std::map<std::size_t, std::unique_ptr<Task>> tasks_;
  std::map<std::size_t, std::unique_ptr<Batch>> batches_;
  std::vector<std::size_t> finished_;
};

}  // namespace lockstep
