// What a scheduler does with instances that share a graph.
#include <fmt/format.h>

#include "run/scheduler.h"
#include "run/shared_program.h"

namespace lockstep {

namespace {

/// A graph that is not done in a fifth of an instance's time limit is taken apart. A program that
/// hangs gets its whole time limit alone.
constexpr double kPatience = 0.2;
/// Into so many parts, since each step of a search costs a time-out. A graph that fails at once is
/// cut into halves, since each step costs its compilations.
constexpr std::size_t kPartsAfterTimeout = 8;

}  // namespace

/// What eager does with an instance is known, or that it will not be executed.
void Scheduler::eager_known(const TaskPtr& task) {
  if (task->on_aside) {
    for (PendingVerdict& pending : task->items) {
      if (!pending.emitted) submit_path(task, pending);
    }
    return;
  }
  SharedGraph& graph = graphs_.at(task->instance->shared_graph);
  if (--graph.waiting == 0) submit_paths(graph);
}

void Scheduler::submit_paths(const SharedGraph& graph) {
  std::map<std::size_t, std::vector<Sharer>> by_path;
  for (const TaskPtr& task : graph.tasks) {
    for (PendingVerdict& pending : task->items) {
      if (pending.emitted) continue;
      // An error would end the whole graph, and its verdict depends on every detail.
      const bool shares = graph.tasks.size() > 1 &&
                          task->references[pending.reference].eager->outcome == Outcome::returned &&
                          !(options_.stays_alone && options_.stays_alone(pending.item));
      if (shares) {
        by_path[plan_.items[pending.item].path].push_back({task, &pending});
      } else {
        submit_path(task, pending);
      }
    }
  }
  for (auto& [path, sharers] : by_path) submit_shared(std::move(sharers));
}

/// Several instances as one program; taken apart where that does not return.
void Scheduler::submit_shared(std::vector<Sharer> sharers) {
  if (sharers.size() == 1) return submit_path(sharers[0].task, *sharers[0].pending);
  std::vector<const InputSet*> inputs;
  for (const Sharer& sharer : sharers) inputs.push_back(&sharer.task->inputs);
  const std::optional<InputSet> joined = join(inputs);
  if (!joined) {
    for (const Sharer& sharer : sharers) submit_path(sharer.task, *sharer.pending);
    return;
  }
  const PlanItem& item = plan_.items[sharers[0].pending->item];
  Job job = path_job(*sharers[0].task,
                     fmt::format("{} (in a graph with {} others)", item.id, sharers.size() - 1),
                     plan_.paths[item.path]);
  job.patience = kPatience;
  job.storages = storage_files(*joined);
  const Path& path = plan_.paths[item.path];
  if (is_told_held(path)) {
    for (const Sharer& sharer : sharers) add_held(job.held, sharer.task->held);
  }
  for (JobPart& part : job.parts) {
    part.message["program"] = joined->wire_program();
    part.message["calls"] = joined->calls;
  }
  ask_for_decoys(job, *sharers[0].task, path);
  job.done = [this, sharers = std::move(sharers), &path](Observation observation, double seconds) {
    note_exit(path, observation.at_exit);
    const std::size_t count = sharers.size();
    for (const Sharer& sharer : sharers)
      sharer.pending->seconds += seconds / static_cast<double>(count);
    if (observation.outcome == Outcome::returned) {
      for (std::size_t k = 0; k < count; ++k) {
        PendingVerdict& pending = *sharers[k].pending;
        pending.observation = std::make_shared<const Observation>(part_of(observation, k, count));
        pending.shared = count - 1;
        judge_with_golds(sharers[k].task, pending);
      }
    } else if (observation.outcome == Outcome::unsupported) {
      // Mostly it is the path, which says so at once.
      for (const Sharer& sharer : sharers) submit_path(sharer.task, *sharer.pending);
    } else {
      const std::size_t wanted =
          observation.outcome == Outcome::timed_out ? kPartsAfterTimeout : std::size_t{2};
      const std::size_t parts = std::min(wanted, count);
      for (std::size_t k = 0; k < parts; ++k) {
        const auto part = [&](std::size_t of) {
          return sharers.begin() + static_cast<std::ptrdiff_t>(count * of / parts);
        };
        submit_shared({part(k), part(k + 1)});
      }
    }
  };
  engine_.submit(std::move(job));
}

}  // namespace lockstep
