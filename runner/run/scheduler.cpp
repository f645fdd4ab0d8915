#include "run/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cases/inputs.h"
#include "cases/show.h"
#include "run/differing_tensors.h"
#include "run/joint.h"
#include "run/repeat.h"

namespace lockstep {
namespace fs = std::filesystem;

namespace {

/// The modes of golds, by index into Task::golds.
enum : std::size_t { kFp64, kPerturbed, kStepwise };
constexpr std::array<std::string_view, 3> kGolds = {"fp64", "perturbed", "stepwise"};

using GoldSet = std::array<bool, kGolds.size()>;

}  // namespace

/// An observation in higher precision, made where it can decide something.
struct Scheduler::Gold {
  bool asked = false;
  std::optional<Observation> made;
};

/// A verdict of an instance on its way.
struct Scheduler::Pending {
  std::size_t item = 0;
  std::optional<Observation> observation;
  std::size_t shared = 0;  ///< with how many others `observation` was made in one graph
  GoldSet golds{};         ///< that `observation` is judged with; it waits until they are made
  double seconds = 0;
  bool emitted = false;
  std::vector<Verdict> rounds;  ///< with --repeat: those that are judged
};

/// An instance under way.
struct Scheduler::Task {
  std::size_t index = 0;
  const Instance* instance = nullptr;
  fs::path directory;
  InputSet inputs;
  Inputs before;  ///< what `inputs` says, for the judge
  std::optional<Observation> eager;
  std::array<Gold, kGolds.size()> golds;
  std::vector<Pending> items;
  std::string program;  ///< for the reports, made with the first verdict
};

/// The instances of a batch under way.
struct Scheduler::Batch {
  std::vector<Task*> tasks;    ///< in the order of the plan
  std::size_t waiting = 0;     ///< of which it is not known what eager does
  std::size_t unfinished = 0;  ///< that have verdicts to come
};

/// An instance on one path, to be executed with others.
struct Scheduler::Member {
  Task* task = nullptr;
  Pending* pending = nullptr;
};

namespace {

/// Golds are made only where they can decide something: an output is not `close` to eager, or its
/// policy reads one.  The perturbed one only tells why something differs, so it waits until the
/// fp64 gold has not made it conform; of a pointwise case, each input is meant to the last bit.
GoldSet golds_for(const Verdict& verdict, const Observation* fp64, bool pointwise) {
  GoldSet needs{};
  for (const OutputComparison& output : verdict.outputs) {
    const bool differs = output.grade && *output.grade > Grade::close;
    const bool fails =
        output.status == Status::value_differs || output.status == Status::nonfinite_differs;
    if (!differs && !fails) continue;
    needs[kFp64] = true;
    if (fails && !pointwise && fp64 != nullptr && fp64->outcome == Outcome::returned)
      needs[kPerturbed] = true;
    if (const auto policy = parse_policy(output.policy); policy && gold_needs(*policy).stepwise)
      needs[kStepwise] = true;
  }
  return needs;
}

/// Why there is nothing to ask where eager has to return.
std::string eager_failure(const Observation& eager) {
  if (eager.error)
    return fmt::format("eager raises {}: {}", eager.error->class_name,
                       one_line(eager.error->message));
  return fmt::format("eager does not return ({}): {}", name_of(eager.outcome),
                     one_line(eager.reason));
}

/// The case for the reports, cut where it is long: `lockstep show` has all of it.
std::string program_text(const Case& declared, const std::string& instance) {
  constexpr std::size_t kMost = 6 * 1024;
  std::string text = show_case(declared, instance);
  if (text.size() <= kMost) return text;
  const std::size_t end = text.rfind('\n', kMost);
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text + "[...] `ci/lockstep show " + shell_quote(instance) + "` prints all of it\n";
}

}  // namespace

Scheduler::Scheduler(const Plan& plan, Executor& executor, SchedulerOptions options,
                     std::vector<bool> skip)
    : plan_(plan), executor_(executor), options_(std::move(options)), skip_(std::move(skip)) {}

Scheduler::~Scheduler() = default;

bool Scheduler::done() const { return tasks_.empty() && next_instance_ == plan_.instances.size(); }

void Scheduler::clear_finished() {
  for (const std::size_t index : finished_) {
    Task& task = *tasks_.at(index);
    std::error_code error;
    fs::remove_all(task.directory, error);
    task.before = {};  // what is mapped; the others of its batch may take long
    task.eager.reset();
    task.golds = {};
    const auto batch = batches_.find(task.instance->batch);
    if (--batch->second->unfinished > 0) continue;
    for (const Task* each : batch->second->tasks) tasks_.erase(each->index);
    batches_.erase(batch);
  }
  finished_.clear();
}

void Scheduler::advance() {
  clear_finished();
  // A few more than there are slots, so that no slot waits for the next eager run.
  while (batches_.size() < options_.jobs * 2 + 2 && next_instance_ < plan_.instances.size())
    begin_batch();
}

void Scheduler::begin_batch() {
  const std::size_t number = plan_.instances[next_instance_].batch;
  auto batch = std::make_unique<Batch>();
  for (; next_instance_ < plan_.instances.size() && plan_.instances[next_instance_].batch == number;
       ++next_instance_) {
    auto task = std::make_unique<Task>();
    task->index = next_instance_;
    task->instance = &plan_.instances[next_instance_];
    for (std::size_t i = 0; i < task->instance->items; ++i, ++next_item_) {
      if (!skip_[next_item_]) task->items.emplace_back().item = next_item_;
    }
    if (task->items.empty()) continue;
    batch->tasks.push_back(task.get());
    tasks_.emplace(task->index, std::move(task));
  }
  if (batch->tasks.empty()) return;
  batch->waiting = batch->unfinished = batch->tasks.size();
  const Batch& begun = *batches_.emplace(number, std::move(batch)).first->second;
  for (Task* task : begun.tasks) begin(*task);
}

Json Scheduler::run_message(const Task& task, const std::string& mode, int repeat,
                            const Json& path) const {
  return {{"instance", task.instance->id},
          {"path", path},
          {"device", task.instance->device},
          {"mode", mode},
          {"repeat", repeat},
          {"seed", task.instance->declared->seed},
          {"program", task.inputs.wire_program()},
          {"storages", task.inputs.storages},
          {"calls", task.inputs.calls}};
}

void Scheduler::begin(Task& task) {
  const Case& declared = *task.instance->declared;
  if (!declared.lacking.empty()) {
    return give_up(task, Status::unsupported,
                   fmt::format("torch {} lacks {}", options_.torch, declared.lacking));
  }
  if (!version_matches(options_.torch, declared.requires_torch)) {
    return give_up(task, Status::unsupported,
                   fmt::format("the case needs torch {}, this is {}", declared.requires_torch,
                               options_.torch));
  }
  task.directory = options_.scratch / fmt::format("in{}", task.index);
  std::error_code error;
  fs::create_directory(task.directory, error);
  if (!declared.prepare) return write_inputs_of(task, nullptr);

  auto inputs = write_prepare_inputs(*declared.prepare, task.directory);
  if (!inputs) return give_up(task, Status::harness, inputs.error().message);
  task.inputs = std::move(*inputs);
  Json message = run_message(task, "plain", 1, {{"name", "eager"}});
  message["seed"] = declared.prepare->seed;
  message["device"] = "cpu";  // the same bytes for every device
  executor_.submit(
      {task.instance->id + " (prepare)", options_.eager, std::move(message), task.index,
       [this, &task](Observation observation, double) {
         if (observation.outcome == Outcome::unsupported)
           return give_up(task, Status::unsupported, "`prepare`: " + observation.reason);
         if (observation.outcome != Outcome::returned) {
           const std::string why =
               observation.error ? observation.error->class_name + ": " + observation.error->message
                                 : observation.reason;
           return give_up(task, Status::harness, "`prepare` did not return: " + one_line(why));
         }
         write_inputs_of(task, &observation);
       }});
}

void Scheduler::write_inputs_of(Task& task, const Observation* prepared) {
  auto inputs = write_inputs(*task.instance->declared, task.directory, prepared);
  if (!inputs) return give_up(task, Status::harness, inputs.error().message);
  task.inputs = std::move(*inputs);
  auto before = read_inputs(task.directory, task.inputs);
  if (!before) return give_up(task, Status::harness, before.error().message);
  task.before = std::move(*before);
  submit_eager(task);
}

void Scheduler::submit_eager(Task& task) {
  executor_.submit({task.instance->id + "/eager", options_.eager,
                    run_message(task, "plain", options_.repeat, {{"name", "eager"}}), task.index,
                    [this, &task](Observation observation, double) {
                      if (observation.outcome != Outcome::returned &&
                          task.instance->declared->eager_must_return)
                        return give_up(task, Status::unsupported, eager_failure(observation));
                      task.eager = std::move(observation);
                      eager_known(task);
                    }});
}

/// What eager does with an instance is known, or that it will not be executed.
void Scheduler::eager_known(Task& task) {
  Batch& batch = *batches_.at(task.instance->batch);
  if (--batch.waiting == 0) submit_paths(batch);
}

void Scheduler::submit_paths(Batch& batch) {
  std::map<std::size_t, std::vector<Member>> by_path;
  for (Task* task : batch.tasks) {
    for (Pending& pending : task->items) {
      if (pending.emitted) continue;
      // An error would end the whole of a graph, and its own verdict hangs on every detail.
      const bool joins = batch.tasks.size() > 1 && task->eager->outcome == Outcome::returned;
      if (joins) {
        by_path[plan_.items[pending.item].path].push_back({task, &pending});
      } else {
        submit_path(*task, pending);
      }
    }
  }
  for (auto& [path, members] : by_path) submit_joint(std::move(members));
}

/// Several instances as one program; halved where that does not return.
void Scheduler::submit_joint(std::vector<Member> members) {
  if (members.size() == 1) return submit_path(*members[0].task, *members[0].pending);
  std::vector<const InputSet*> inputs;
  for (const Member& member : members) inputs.push_back(&member.task->inputs);
  InputSet joint = join(inputs);
  const Task& first = *members[0].task;
  const PlanItem& item = plan_.items[members[0].pending->item];
  const Path& path = plan_.paths[item.path];
  Json message = run_message(first, "plain", options_.repeat, path.declared);
  message["program"] = joint.wire_program();
  message["storages"] = std::move(joint.storages);
  message["calls"] = std::move(joint.calls);
  executor_.submit({fmt::format("{} (in a graph with {} others)", item.id, members.size() - 1),
                    options_.worker_of(path), std::move(message), first.index,
                    [this, members](Observation observation, double seconds) {
                      const std::size_t count = members.size();
                      for (const Member& member : members)
                        member.pending->seconds += seconds / static_cast<double>(count);
                      if (observation.outcome == Outcome::returned) {
                        for (std::size_t k = 0; k < count; ++k) {
                          members[k].pending->observation = part_of(observation, k, count);
                          members[k].pending->shared = count - 1;
                          judge_item(*members[k].task, *members[k].pending);
                        }
                      } else if (observation.outcome == Outcome::unsupported) {
                        // Mostly it is the path, which says so at once.
                        for (const Member& member : members)
                          submit_path(*member.task, *member.pending);
                      } else {
                        const auto middle =
                            members.begin() + static_cast<std::ptrdiff_t>(count / 2);
                        submit_joint({members.begin(), middle});
                        submit_joint({middle, members.end()});
                      }
                    }});
}

void Scheduler::submit_path(Task& task, Pending& pending) {
  const Path& path = plan_.paths[plan_.items[pending.item].path];
  executor_.submit({plan_.items[pending.item].id, options_.worker_of(path),
                    run_message(task, "plain", options_.repeat, path.declared), task.index,
                    [this, &task, &pending](Observation observation, double seconds) {
                      pending.observation = std::move(observation);
                      pending.shared = 0;
                      pending.golds = {};
                      pending.seconds += seconds;
                      judge_item(task, pending);
                    }});
}

/// A verdict is there: the only one, or that of one of several executions.
void Scheduler::judged(Task& task, Pending& pending, Verdict verdict) {
  if (options_.executions <= 1) return emit(task, pending, std::move(verdict));
  pending.rounds.push_back(std::move(verdict));
  pending.observation.reset();
  if (pending.rounds.size() < static_cast<std::size_t>(options_.executions))
    return submit_path(task, pending);
  emit(task, pending, combine(std::move(pending.rounds)));
}

void Scheduler::need_gold(Task& task, Pending& pending, std::size_t index) {
  pending.golds[index] = true;
  Gold& gold = task.golds[index];
  if (std::exchange(gold.asked, true)) return;
  const std::string mode(kGolds[index]);
  executor_.submit({task.instance->id + " (" + mode + " gold)", options_.eager,
                    run_message(task, mode, 1, {{"name", "eager"}}), task.index,
                    [this, &task, &gold](Observation observation, double) {
                      gold.made = std::move(observation);
                      judge_waiting(task);
                    }});
}

/// Judges what is there with the golds that it asked for, as soon as all of them are made, and with
/// no other: a verdict must not hang on which of them is made first, nor on what another path asked
/// for.  So no gold is under way, either, once all verdicts of its instance are there.
void Scheduler::judge_item(Task& task, Pending& pending) {
  // A pointwise case tells of whatever returns how far it is from the truth.
  if (task.instance->declared->pointwise && task.eager->outcome == Outcome::returned &&
      pending.observation->outcome == Outcome::returned)
    need_gold(task, pending, kFp64);
  for (std::size_t index = 0; index < kGolds.size(); ++index) {
    if (pending.golds[index] && !task.golds[index].made) return;
  }
  const Path& path = plan_.paths[plan_.items[pending.item].path];
  const Case& declared = *task.instance->declared;
  JudgeRequest request;
  request.compiled = &*pending.observation;
  request.eager = &*task.eager;
  const auto gold = [&](std::size_t index) {
    return pending.golds[index] ? &*task.golds[index].made : nullptr;
  };
  request.fp64 = gold(kFp64);
  request.perturbed = gold(kPerturbed);
  request.stepwise = gold(kStepwise);
  request.inputs = &task.before.calls;
  request.policy_of = [&](std::string_view output) {
    return policy_for(declared, output, path.name);
  };
  request.promise = path.promise;
  request.strides = declared.strides;
  request.raises = declared.raises;
  request.pointwise = declared.pointwise;
  request.compiles = path.compiles;
  Verdict verdict = judge(request);
  if (pending.shared > 0 && (verdict.status != Status::conform || verdict.unstable)) {
    pending.observation.reset();  // only what it does alone counts
    return submit_path(task, pending);
  }
  verdict.shared = pending.shared;
  verdict.peak_memory_bytes = pending.observation->peak_memory_bytes;
  verdict.stderr_tail = pending.observation->stderr_tail;

  const GoldSet needs = golds_for(verdict, request.fp64, declared.pointwise);
  bool more = false;
  for (std::size_t index = 0; index < kGolds.size(); ++index) {
    if (!needs[index] || pending.golds[index]) continue;
    need_gold(task, pending, index);
    more = true;
  }
  if (more) return judge_item(task, pending);
  if (!options_.keep.empty()) {
    auto kept = keep_tensors(options_.keep, plan_.items[pending.item].id, request, verdict);
    if (!kept) on_note("cannot keep tensors: " + kept.error().message);
  }
  judged(task, pending, std::move(verdict));
}

void Scheduler::judge_waiting(Task& task) {
  for (Pending& pending : task.items) {
    if (pending.observation && !pending.emitted) judge_item(task, pending);
  }
}

void Scheduler::give_up(Task& task, Status status, const std::string& reason) {
  for (Pending& pending : task.items) {
    Verdict verdict;
    verdict.status = status;
    verdict.reason = reason;
    emit(task, pending, std::move(verdict));
  }
  eager_known(task);
}

void Scheduler::emit(Task& task, Pending& pending, Verdict verdict) {
  const PlanItem& item = plan_.items[pending.item];
  const Case& declared = *task.instance->declared;
  verdict.id = item.id;
  verdict.instance = task.instance->id;
  verdict.path = plan_.paths[item.path].name;
  verdict.device = task.instance->device;
  verdict.title = declared.title;
  verdict.case_file = declared.file;
  verdict.index = pending.item;
  verdict.links = declared.links;
  verdict.seconds = pending.seconds;
  verdict.repro = "ci/lockstep run " + shell_quote(item.id);
  if (task.program.empty()) task.program = program_text(declared, verdict.instance);
  verdict.program = task.program;
  verdict.tags = declared.tags;
  verdict.operators = declared.operators;
  verdict.dtypes = input_dtypes(declared);
  pending.emitted = true;
  pending.observation.reset();
  on_verdict(std::move(verdict));
  if (std::all_of(task.items.begin(), task.items.end(),
                  [](const Pending& each) { return each.emitted; }))
    finished_.push_back(task.index);
}

}  // namespace lockstep
