#pragma once

#include <array>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "plan/plan.h"
#include "run/judgement.h"
#include "run/task.h"
#include "run/thread_pool.h"
#include "run/workplace.h"

namespace lockstep {

/// What an item was executed to, as the judge has it last; nothing that others own.
struct Executed {
  std::size_t item = 0;  ///< of the plan
  std::shared_ptr<const Observation> eager, compiled;
  PerGold<std::shared_ptr<const Observation>> golds;  ///< null: not asked for
};

/// How a scheduler executes.
struct SchedulerOptions {
  Workplace workplace;
  int repeat = 2;      ///< calls within one execution
  int executions = 1;  ///< of every item on its path; the worst one counts
  /// Which items these are, by their ids; the others are executed once.  Null: all.
  std::function<bool(const std::string&)> repeated;
  std::filesystem::path save_tensors;  ///< where the tensors of failing outputs go; empty: nowhere
  JudgeFunction judge = lockstep::judge;
  /// Executes an item again while it is `worth_retrying`, at most so many times.
  int retries = 0;
  std::function<bool(const Verdict&)> worth_retrying;  ///< null: nothing is
  GoldSet golds{};  ///< made of all that returns, whether or not they decide something
  /// The seed of inputs that nobody has seen (cases/fresh.h); none: nobody draws any. What conforms
  /// on a path that is not torch's own is executed on them, too. It may fail on two draws of three.
  std::optional<std::uint64_t> fresh_seed;
  /// What diverges in a graph with others counts there: whoever asks looks at it again.
  bool shared_counts = false;
  /// Which items need not be tried in a graph with others, since they do not conform and would be
  /// executed alone anyway; one that ends the program would have the graph taken apart.  Null:
  /// none.
  std::function<bool(std::size_t item)> stays_alone;
  /// Gets what each item was executed to, before its verdict is given; null: nobody asks.
  std::function<void(Executed)> on_executed;
};

/// Takes each instance of a plan through its executions: prepare, eager, every path, golds where
/// something differs; and has the judge speak, on threads of its own.  Instances are begun in the
/// order of the plan, a few at a time; each path executes those of a shared graph as one program
/// first (plan/share.h).
class Scheduler {
 public:
  /// `skip` says of each item of the plan whether it needs no execution: it is in the log that a
  /// run resumes, or it is added later, if at all.
  Scheduler(const Plan& plan, Engine& engine, SchedulerOptions options, std::vector<bool> skip);
  /// Abandons running executions; waits for judgements.
  ~Scheduler();

  /// Called with each verdict when it is there, in no particular order.
  std::function<void(Verdict)> on_verdict;

  /// Called with warnings that no verdict holds, such as tensors that cannot be saved.
  std::function<void(const std::string&)> on_note;

  /// Called with what is to stand in the log of where the verdicts come from.
  std::function<void(const std::string& name, const Json& values)> on_environment;

  /// Executes items, too, that were skipped until now.
  void add(const std::vector<std::size_t>& items);
  /// Begins what there is room for.  Call it until `done`, with Engine::step and `hear` in between.
  void advance();
  /// Continues one judgement, if there is one; it may give a verdict.
  bool hear() { return judges_.take(); }
  /// Whether all verdicts are there; frees what they no longer need.
  bool done();
  /// Once nothing is left to execute: has the workers exit that paths bring, and notes which break
  /// at that.
  void dismiss_workers();

 private:
  bool begin_next();
  void begin(const TaskPtr& task);
  void emit_unexecuted(const TaskPtr& task);
  void write_inputs_of(const TaskPtr& task, const Observation* prepared);
  void submit_eager(const TaskPtr& task, std::size_t index);
  void eager_known(const TaskPtr& task);
  void submit_paths(const SharedGraph& graph);
  void submit_shared(std::vector<Sharer> sharers);
  void submit_path(const TaskPtr& task, PendingVerdict& pending);
  /// Executes a verdict's item in the other circumstances that its relations ask for.
  void submit_others(const TaskPtr& task, PendingVerdict& pending);
  void submit_other_eager(const TaskPtr& task, std::size_t index, RelationKind kind);
  /// A path whose process breaks after it has answered: that is no verdict's.  Said once.
  void note_exit(const Path& path, const std::string& broke);
  void ask_for_decoys(Job& job, const Task& task, const Path& path) const;
  void need_gold(const TaskPtr& task, PendingVerdict& pending, Gold gold);
  /// Calls `then` once it is known whether the program of an instance is lowered.
  void when_lowered(const TaskPtr& task, const PendingVerdict& pending, std::function<void()> then);
  void judge_with_golds(const TaskPtr& task, PendingVerdict& pending);
  void judge_waiting(const TaskPtr& task);
  void judged(const TaskPtr& task, PendingVerdict& pending, Judgement judgement);
  void finish_round(const TaskPtr& task, PendingVerdict& pending, Findings found,
                    Provenance origin);
  /// Gives every verdict of an instance; `unsupported_by` as in Findings.
  void give_up(const TaskPtr& task, Status status, const std::string& reason,
               std::optional<UnsupportedBy> unsupported_by = {});
  /// Gives a verdict without an execution.
  void emit_unjudged(const TaskPtr& task, PendingVerdict& pending, Status status,
                     const std::string& reason, std::optional<UnsupportedBy> unsupported_by);
  bool executes_again(const PendingVerdict& pending, const Verdict& verdict) const;
  /// What the plan knows of an item of the task.
  CaseFacts facts_of(Task& task, std::size_t item) const;
  void emit(const TaskPtr& task, PendingVerdict& pending, Findings found, Provenance origin);
  /// Executes a verdict's item on inputs that nobody has seen; false: there are none, or nobody
  /// wants that.
  bool draw(const TaskPtr& task, PendingVerdict& pending, const Findings& found,
            const Provenance& origin);
  void judged_draw(const TaskPtr& task, PendingVerdict& pending, Findings found, Provenance origin,
                   Findings drawn);
  /// Executes a verdict's item step by step, each from the state that eager left; false: it hands
  /// nothing from call to call, or there is nothing to find that way.
  bool restart(const TaskPtr& task, PendingVerdict& pending, const Findings& found,
               const Provenance& origin);
  void judged_restart(const TaskPtr& task, PendingVerdict& pending, Findings found,
                      Provenance origin, const Findings& restarted);
  /// Judges the item of a task on another case; `then` hears what is found.
  void judge_aside(const Task& task, std::size_t item, Case other,
                   std::function<void(Findings)> then);
  void clear_finished();
  /// A job of an instance with one part, for the eager worker on the instance's device.  What may
  /// draw random numbers is executed once more than `repeat`, with other seeds.
  Job job_of(const Task& task, std::string id, const std::string& mode, int repeat) const;
  /// The same where a reference is executed.
  Job reference_job(const Task& task, const Reference& reference, std::string id,
                    const std::string& mode, int repeat) const;
  /// The same on a path: two parts where it packages, of which one packages and the next one
  /// executes the package.
  Job path_job(const Task& task, std::string id, const Path& path) const;

  const Plan& plan_;
  Engine& engine_;
  SchedulerOptions options_;
  std::vector<bool> skip_;
  std::vector<std::size_t> first_items_;       ///< of each instance
  std::vector<std::size_t> first_of_unit_;     ///< of each instance, the first one of its graph
  std::deque<std::size_t> waiting_;            ///< the first instances of graphs to be begun
  std::map<std::size_t, SharedGraph> graphs_;  ///< under way, by Instance::shared_graph
  std::vector<TaskPtr> finished_;
  std::set<std::string> exits_told_;  ///< paths
  std::size_t draws_ = 0;             ///< until now, for the names of their folders
  ThreadPool judges_;                 ///< last: it ends before what it reads
};

}  // namespace lockstep
