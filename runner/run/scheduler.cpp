#include "run/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cases/inputs.h"
#include "plan/case_facts.h"
#include "plan/units.h"
#include "run/absent_paths.h"
#include "run/workers.h"
#include "wire/request.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// How an execution failed that has to return.
std::string failure_of(std::string_view who, const Observation& seen) {
  if (seen.error)
    return fmt::format("{} raises {}: {}", who, seen.error->class_name,
                       one_line(seen.error->message));
  return fmt::format("{} does not return ({}): {}", who, name_of(seen.outcome),
                     one_line(seen.reason));
}

/// Why an instance cannot be compared with eager on the device that the path is compared with;
/// empty: it can.
std::string lacking_reference(const Path& path, const Instance& instance) {
  const std::string& device = path.reference.device;
  if (device.empty() || device == instance.device) return "";
  if (instance.on_devices.at(device) == nullptr)
    return fmt::format("the path is compared with eager on {}, for which the case is not meant",
                       device);
  if (!instance.declared->random) return "";
  return fmt::format(
      "the path is compared with eager on {}, which draws other random numbers than {}", device,
      instance.device);
}

/// Has a job executed otherwise: in any case by another process, as every job is. `usual`: the
/// threads of a job that asks for none.
void other_circumstances(Job& job, RelationKind kind, int usual) {
  if (kind != RelationKind::threads) return;
  for (JobPart& part : job.parts) {
    const int threads = part.message.value("threads", usual);
    part.message["threads"] = threads > 1 ? 1 : 2;
  }
}

/// The instance's case, and the calls that its relations ask for.
void set_executed(Task& task) {
  task.executed = task.instance->declared;
  if (task.executed->relations.empty()) return;
  task.related =
      std::make_shared<const RelatedCase>(with_calls_of_relations(*task.instance->declared));
  task.executed = {task.related, &task.related->declared};
}

}  // namespace

Scheduler::Scheduler(const Plan& plan, Engine& engine, SchedulerOptions options,
                     std::vector<bool> skip)
    : plan_(plan),
      engine_(engine),
      options_(std::move(options)),
      skip_(std::move(skip)),
      judges_(options_.workplace.jobs, [this] { engine_.wake(); }) {
  std::size_t items = 0;
  for (const Unit& unit : units_of(plan_)) {
    const std::size_t before = items;
    for (std::size_t i = unit.begin; i < unit.end; ++i) {
      first_items_.push_back(items);
      first_of_unit_.push_back(unit.begin);
      items += plan_.instances[i].items;
    }
    const auto begin = skip_.begin() + static_cast<std::ptrdiff_t>(before);
    const auto end = skip_.begin() + static_cast<std::ptrdiff_t>(items);
    if (std::find(begin, end, false) != end) waiting_.push_back(unit.begin);
  }
}

Scheduler::~Scheduler() { engine_.abandon(); }

bool Scheduler::done() {
  clear_finished();
  return graphs_.empty() && waiting_.empty();
}

void Scheduler::add(const std::vector<std::size_t>& items) {
  for (const std::size_t item : items) {
    skip_[item] = false;
    const std::size_t first = first_of_unit_[plan_.items[item].instance];
    if (std::find(waiting_.rbegin(), waiting_.rend(), first) == waiting_.rend())
      waiting_.push_back(first);
  }
}

void Scheduler::clear_finished() {
  for (const TaskPtr& task : std::exchange(finished_, {})) {
    std::error_code error;
    fs::remove_all(task->directory, error);
    task->before.reset();  // what is mapped; the others of its graph may take long
    task->held.clear();
    task->references.clear();
    if (task->on_aside) continue;
    const auto graph = graphs_.find(task->instance->shared_graph);
    if (--graph->second.unfinished == 0) graphs_.erase(graph);
  }
}

void Scheduler::advance() {
  clear_finished();
  while (graphs_.size() < engine_.wanted() && begin_next()) {
  }
}

bool Scheduler::begin_next() {
  // Of one that is under way the rest, if it was added, waits.
  const auto next = std::find_if(waiting_.begin(), waiting_.end(), [this](std::size_t index) {
    return !graphs_.contains(plan_.instances[index].shared_graph);
  });
  if (next == waiting_.end()) return false;
  const std::size_t first = *next;
  waiting_.erase(next);
  const std::size_t number = plan_.instances[first].shared_graph;
  SharedGraph graph;
  for (std::size_t index = first;
       index < plan_.instances.size() && plan_.instances[index].shared_graph == number; ++index) {
    auto task = std::make_shared<Task>();
    task->index = index;
    task->instance = &plan_.instances[index];
    for (std::size_t i = 0; i < task->instance->items; ++i) {
      const std::size_t item = first_items_[index] + i;
      if (!skip_[item]) task->items.emplace_back().item = item;
      skip_[item] = true;
    }
    if (task->items.empty()) continue;
    set_executed(*task);
    graph.tasks.push_back(std::move(task));
  }
  graph.waiting = graph.unfinished = graph.tasks.size();
  const SharedGraph& begun = graphs_.emplace(number, std::move(graph)).first->second;
  for (const TaskPtr& task : begun.tasks) begin(task);
  return true;
}

Job Scheduler::job_of(const Task& task, std::string id, const std::string& mode, int repeat) const {
  const Case& declared = task.declared();
  Job job;
  job.id = std::move(id);
  job.parts = {{options_.workplace.eager,
                to_json(ExecutionRequest{.instance = task.instance->id,
                                         .path = Json{{"name", "eager"}},
                                         .device = task.instance->device,
                                         .mode = mode,
                                         .repeat = repeat + (declared.random ? 1 : 0),
                                         .seed = declared.seed,
                                         .reseed = declared.random,
                                         .threads = declared.threads,
                                         .program = task.inputs.wire_program(),
                                         .calls = task.inputs.calls})}};
  job.storages = storage_files(task.inputs);
  job.order = task.index;
  return job;
}

Job Scheduler::reference_job(const Task& task, const Reference& reference, std::string id,
                             const std::string& mode, int repeat) const {
  Job job = job_of(task, std::move(id), mode, repeat);
  job.parts[0].worker = at_cpu_level(options_.workplace.eager, reference.site.cpu_level);
  Json& message = job.parts[0].message;
  message["device"] = reference.site.device;
  if (reference.site.threads > 0) message["threads"] = reference.site.threads;
  if (reference.declared != task.instance->declared) {
    InputSet there = task.inputs;  // the same bytes
    there.program = reference.declared->program;
    message["program"] = there.wire_program();
  }
  return job;
}

Job Scheduler::path_job(const Task& task, std::string id, const Path& path) const {
  Job job = job_of(task, std::move(id), "plain", options_.repeat);
  job.parts[0].worker = options_.workplace.worker_of(path);
  job.parts[0].message["path"] = path.declared;
  if (path.site.threads > 0) job.parts[0].message["threads"] = path.site.threads;
  if (path.packages) {
    job.parts.push_back(
        {at_cpu_level(options_.workplace.eager, path.site.cpu_level), job.parts[0].message});
    job.parts[1].message["mode"] = "package";
  }
  return job;
}

void Scheduler::begin(const TaskPtr& task) {
  const Case& declared = task->declared();
  if (!declared.newer_lockstep.empty()) {
    return give_up(task, Status::unsupported,
                   fmt::format("the case needs Lockstep {}, this is {}", declared.newer_lockstep,
                               LOCKSTEP_VERSION),
                   UnsupportedBy::case_);
  }
  if (!declared.lacking.empty()) {
    return give_up(task, Status::unsupported,
                   fmt::format("torch {} lacks {}", options_.workplace.torch, declared.lacking),
                   UnsupportedBy::torch);
  }
  if (!version_matches(options_.workplace.torch, declared.requires_torch)) {
    return give_up(task, Status::unsupported,
                   fmt::format("the case needs torch {}, this is {}", declared.requires_torch,
                               options_.workplace.torch),
                   UnsupportedBy::case_);
  }
  emit_unexecuted(task);
  find_references(*task, plan_);
  if (task->references.empty()) return eager_known(task);
  task->directory = options_.workplace.scratch / fmt::format("in{}", task->index);
  if (task->on_aside) task->directory += fmt::format("draw{}", draws_++);
  std::error_code error;
  fs::create_directory(task->directory, error);
  if (!declared.prepare) return write_inputs_of(task, nullptr);

  auto inputs = write_prepare_inputs(*declared.prepare, task->directory);
  if (!inputs) return give_up(task, Status::harness, inputs.error().message);
  task->inputs = std::move(*inputs);
  Job job = job_of(*task, prepare_job(*task->instance), "plain", 1);
  job.parts[0].message["seed"] = declared.prepare->seed;
  job.parts[0].message["device"] = "cpu";  // the same bytes for every device
  job.parts[0].message["repeat"] = 1;
  job.parts[0].message.erase("reseed");
  job.parts[0].message.erase("threads");
  job.done = [this, task](Observation observation, double) {
    if (observation.outcome == Outcome::unsupported)
      return give_up(task, Status::unsupported, "`prepare`: " + observation.reason,
                     UnsupportedBy::reference);
    if (observation.outcome != Outcome::returned)
      return give_up(task, Status::harness, failure_of("`prepare`", observation));
    write_inputs_of(task, &observation);
  };
  engine_.submit(std::move(job));
}

/// Judges without an execution what needs none.
void Scheduler::emit_unexecuted(const TaskPtr& task) {
  for (PendingVerdict& pending : task->items) {
    const PlanItem& item = plan_.items[pending.item];
    const Path& path = plan_.paths[item.path];
    const auto emit_unsupported = [&](const std::string& reason, UnsupportedBy by) {
      emit_unjudged(task, pending, Status::unsupported, reason, by);
    };
    if (!item.declared.unsupported.empty()) {
      emit_unsupported(declared_reason(item.declared.unsupported), UnsupportedBy::declaration);
    } else if (const std::string lacking = lacking_cpu_level(path, options_.workplace.cpu_levels);
               !lacking.empty()) {
      emit_unsupported(lacking, UnsupportedBy::machine);
    } else if (const std::string none = lacking_reference(path, *task->instance); !none.empty()) {
      emit_unsupported(none, UnsupportedBy::reference);
    }
  }
}

void Scheduler::write_inputs_of(const TaskPtr& task, const Observation* prepared) {
  auto inputs = write_inputs(task->declared(), task->directory, prepared);
  if (!inputs) return give_up(task, Status::harness, inputs.error().message);
  task->inputs = std::move(*inputs);
  auto before = read_inputs(task->directory, task->inputs);
  if (!before) return give_up(task, Status::harness, before.error().message);
  task->before = std::make_shared<const Inputs>(std::move(*before));
  add_held(task->held, task->before->storages);
  const std::vector<RelationKind> others =
      task->related ? other_executions(task->related->declared) : std::vector<RelationKind>();
  task->unknown = task->references.size() * (1 + others.size());
  for (std::size_t index = 0; index < task->references.size(); ++index) {
    submit_eager(task, index);
    for (const RelationKind kind : others) submit_other_eager(task, index, kind);
  }
}

void Scheduler::submit_other_eager(const TaskPtr& task, std::size_t index, RelationKind kind) {
  const Reference& reference = task->references[index];
  Job job = reference_job(*task, reference,
                          other_job(eager_job(*task->instance, reference.site), kind), "plain", 1);
  other_circumstances(job, kind, options_.workplace.threads);
  job.done = [this, task, index, kind](Observation observation, double) {
    task->references[index].others[kind] =
        std::make_shared<const Observation>(std::move(observation));
    if (--task->unknown == 0) eager_known(task);
  };
  engine_.submit(std::move(job));
}

void Scheduler::submit_eager(const TaskPtr& task, std::size_t index) {
  const Reference& reference = task->references[index];
  Job job = reference_job(*task, reference, eager_job(*task->instance, reference.site), "plain",
                          options_.repeat);
  job.held = task->held;
  job.done = [this, task, index](Observation observation, double) {
    const auto seen = std::make_shared<const Observation>(std::move(observation));
    task->references[index].eager = seen;
    add_held(task->held, seen->storages);
    const bool fails =
        seen->outcome != Outcome::returned && task->instance->declared->eager_must_return;
    for (PendingVerdict& pending : task->items) {
      if (fails && !pending.emitted && pending.reference == index)
        emit_unjudged(task, pending, Status::unsupported, failure_of("eager", *seen),
                      UnsupportedBy::reference);
    }
    if (--task->unknown == 0) eager_known(task);
  };
  engine_.submit(std::move(job));
}

/// Has a program compiled before its inputs are there, on a path that is not torch's own. On a draw
/// they are there: nobody has seen them, and what only the first call shows is judged there.
void Scheduler::ask_for_decoys(Job& job, const Task& task, const Path& path) const {
  if (options_.fresh_seed && !path.torchs_own && !task.on_aside)
    job.parts.front().message["decoys"] = true;
}

void Scheduler::note_exit(const Path& path, const std::string& broke) {
  if (broke.empty() || !exits_told_.insert(path.name).second) return;
  const std::string how = broke + ", after it had answered";
  if (on_environment) on_environment("path " + path.name, {{"lacks a clean exit", how}});
  if (on_note) on_note(fmt::format("the process of path {} {}", path.name, how));
}

void Scheduler::dismiss_workers() {
  for (const Path& path : plan_.paths) {
    if (!path.command.empty()) note_exit(path, engine_.dismiss(options_.workplace.worker_of(path)));
  }
}

void Scheduler::submit_path(const TaskPtr& task, PendingVerdict& pending) {
  const PlanItem& item = plan_.items[pending.item];
  const Path& path = plan_.paths[item.path];
  Job job = path_job(*task, item.id, path);
  if (is_told_held(path)) job.held = task->held;
  ask_for_decoys(job, *task, path);
  job.done = [this, task, &pending, &path](Observation observation, double seconds) {
    note_exit(path, observation.at_exit);
    pending.observation = std::make_shared<const Observation>(std::move(observation));
    pending.shared = 0;
    pending.golds = {};
    pending.seconds += seconds;
    if (--pending.executions_to_come == 0) judge_with_golds(task, pending);
  };
  pending.executions_to_come = 1;
  submit_others(task, pending);
  engine_.submit(std::move(job));
}

void Scheduler::submit_others(const TaskPtr& task, PendingVerdict& pending) {
  if (!task->related) return;
  const PlanItem& item = plan_.items[pending.item];
  for (const RelationKind kind : other_executions(task->related->declared)) {
    Job job = path_job(*task, other_job(item.id, kind), plan_.paths[item.path]);
    other_circumstances(job, kind, options_.workplace.threads);
    job.done = [this, task, &pending, kind](Observation observation, double seconds) {
      pending.others[kind] = std::make_shared<const Observation>(std::move(observation));
      pending.seconds += seconds;
      if (--pending.executions_to_come == 0) judge_with_golds(task, pending);
    };
    ++pending.executions_to_come;
    engine_.submit(std::move(job));
  }
}

void Scheduler::need_gold(const TaskPtr& task, PendingVerdict& pending, Gold gold) {
  pending.golds[gold] = true;
  Reference& reference = task->references[pending.reference];
  MadeGold& made = reference.golds[gold];
  if (std::exchange(made.asked, true)) return;
  when_lowered(task, pending, [this, task, gold, &reference, &made] {
    const std::string mode(info(gold).name);
    Job job =
        reference_job(*task, reference, gold_job(*task->instance, reference.site, mode), mode, 1);
    if (!task->lowered.program.is_null() && reference.declared == task->instance->declared)
      job.parts[0].message["program"] = task->lowered.program;
    job.done = [this, task, &made](Observation observation, double) {
      made.made = std::make_shared<const Observation>(std::move(observation));
      judge_waiting(task);
    };
    engine_.submit(std::move(job));
  });
}

/// Golds are made by C++, which has no Python functions: Lockstep's Python worker says once for an
/// instance which operators they call. Without it the golds say what they lack.
void Scheduler::when_lowered(const TaskPtr& task, const PendingVerdict& pending,
                             std::function<void()> then) {
  LoweredProgram& lowered = task->lowered;
  const Path& path = plan_.paths[plan_.items[pending.item].path];
  if (lowered.known || !path.command.empty() || !call_functions(task->inputs.program.steps))
    return then();
  lowered.waiting.push_back(std::move(then));
  if (std::exchange(lowered.asked, true)) return;
  Job job = job_of(*task, lower_job(*task->instance), "lower", 1);
  job.parts[0].worker = options_.workplace.worker_of(path);
  job.parts[0].message["path"] =
      Json{{"name", "lower"}, {"import", path.declared.value("import", Json::array())}};
  job.done = [task](Observation observation, double) {
    LoweredProgram& there = task->lowered;
    if (observation.outcome == Outcome::returned) {
      there.program = std::move(observation.lowered);
    } else if (observation.outcome != Outcome::unsupported) {
      there.fault = failure_of("no gold: the search for what its functions call", observation);
    }
    there.known = true;
    for (const auto& waits : std::exchange(there.waiting, {})) waits();
  };
  engine_.submit(std::move(job));
}

void Scheduler::give_up(const TaskPtr& task, Status status, const std::string& reason,
                        std::optional<UnsupportedBy> unsupported_by) {
  for (PendingVerdict& pending : task->items) {
    if (!pending.emitted) emit_unjudged(task, pending, status, reason, unsupported_by);
  }
  eager_known(task);
}

void Scheduler::emit_unjudged(const TaskPtr& task, PendingVerdict& pending, Status status,
                              const std::string& reason,
                              std::optional<UnsupportedBy> unsupported_by) {
  emit(task, pending, unjudged(status, reason, unsupported_by), {});
}

CaseFacts Scheduler::facts_of(Task& task, std::size_t item) const {
  if (task.program.empty()) task.program = program_text(*task.instance);
  return case_facts(plan_, item, task.program);
}

void Scheduler::emit(const TaskPtr& task, PendingVerdict& pending, Findings found,
                     Provenance origin) {
  if (task->on_aside) {
    pending.emitted = true;
    pending.observation.reset();
    finished_.push_back(task);
    return task->on_aside(std::move(found));
  }
  origin.seconds = pending.seconds;
  if (const Observation* eager = pending.reference < task->references.size()
                                     ? task->references[pending.reference].eager.get()
                                     : nullptr)
    origin.uses = eager->uses;
  pending.emitted = true;
  pending.observation.reset();
  on_verdict({facts_of(*task, pending.item), std::move(found), std::move(origin), {}});
  if (std::all_of(task->items.begin(), task->items.end(),
                  [](const PendingVerdict& each) { return each.emitted; }))
    finished_.push_back(task);
}

}  // namespace lockstep
