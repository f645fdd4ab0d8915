// What a scheduler does with what a path returned: a judgement, and executions that it asks for.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/splitmix.h"
#include "cases/fresh.h"
#include "cases/restarted.h"
#include "judge/combine.h"
#include "judge/growth.h"
#include "run/scheduler.h"

namespace lockstep {

/// Judges once all golds that it asked for are there, and with no others. A verdict must not depend
/// on which gold comes first, nor on the golds of another path. So no gold is under way, either,
/// once all verdicts of its instance are there.
void Scheduler::judge_with_golds(const TaskPtr& task, PendingVerdict& pending) {
  const Reference& reference = task->references[pending.reference];
  if (reference.eager->outcome == Outcome::returned &&
      pending.observation->outcome == Outcome::returned) {
    // A pointwise case reports the distance from the truth of every result.
    if (task->instance->declared->pointwise) need_gold(task, pending, Gold::fp64);
    for (const GoldInfo& each : all_golds()) {
      if (options_.golds[each.gold]) need_gold(task, pending, each.gold);
    }
  }
  const PlanItem& item = plan_.items[pending.item];
  const Path& path = plan_.paths[item.path];
  Evidence evidence{.id = item.id,
                    .declared = task->executed,
                    .path = path.name,
                    .contract = item.declared.contract(path),
                    .compiles = path.compiles,
                    .refuses = path.declarations.refuses,
                    .of_path = item.declared,
                    .worker_of_lockstep = path.command.empty(),
                    .own_random = path.own_random,
                    .cross_device = cross_device(reference.site, path, *task->instance),
                    .eager_device = reference.site.device,
                    .shared = pending.shared > 0,
                    .repeat = options_.repeat,
                    .inputs = task->before,
                    .eager = reference.eager,
                    .compiled = pending.observation,
                    .golds = {},
                    .related = task->related,
                    .other_eager = reference.others,
                    .other_compiled = pending.others,
                    .keeps = path.keeps};
  for (const GoldInfo& each : all_golds()) {
    if (!pending.golds[each.gold]) continue;
    if (!reference.golds[each.gold].made) return;
    evidence.golds[each.gold] = reference.golds[each.gold].made;
  }
  pending.judging = true;
  const auto judgement = std::make_shared<Judgement>();
  judges_.submit(
      [this, judgement, evidence = std::move(evidence),
       save_to = task->on_aside ? std::filesystem::path() : options_.save_tensors] {
        *judgement = judge_item(evidence, options_.judge, save_to);
      },
      [this, judgement, task, &pending] { judged(task, pending, std::move(*judgement)); });
}

void Scheduler::judge_waiting(const TaskPtr& task) {
  for (PendingVerdict& pending : task->items) {
    if (pending.observation && pending.executions_to_come == 0 && !pending.emitted &&
        !pending.judging)
      judge_with_golds(task, pending);
  }
}

void Scheduler::judged(const TaskPtr& task, PendingVerdict& pending, Judgement judgement) {
  pending.judging = false;
  if (!judgement.counts && !options_.shared_counts) {
    pending.observation.reset();
    return submit_path(task, pending);
  }
  bool more = false;
  for (const GoldInfo& each : all_golds()) {
    if (!judgement.needs[each.gold]) continue;
    need_gold(task, pending, each.gold);
    more = true;
  }
  if (more) return judge_with_golds(task, pending);
  // Golds could have shown that what differs is no fault.
  const bool asked = std::any_of(all_golds().begin(), all_golds().end(),
                                 [&](const GoldInfo& each) { return pending.golds[each.gold]; });
  if (asked && !task->lowered.fault.empty() && judgement.found.status != Status::conform)
    judgement.found = unjudged(Status::harness, task->lowered.fault);
  if (!judgement.note.empty() && on_note) on_note(judgement.note);
  judgement.origin.shared = pending.shared;
  finish_round(task, pending, std::move(judgement.found), std::move(judgement.origin));
}

/// An execution is judged: the only one, or one of several.
void Scheduler::finish_round(const TaskPtr& task, PendingVerdict& pending, Findings found,
                             Provenance origin) {
  Verdict verdict{facts_of(*task, pending.item), std::move(found), std::move(origin), {}};
  const bool again = !task->on_aside && executes_again(pending, verdict);
  if (options_.on_executed) {
    const Reference& reference = task->references[pending.reference];
    Executed executed{pending.item, reference.eager, pending.observation, {}};
    for (const GoldInfo& each : all_golds()) {
      if (pending.golds[each.gold]) executed.golds[each.gold] = reference.golds[each.gold].made;
    }
    options_.on_executed(std::move(executed));
  }
  pending.rounds.push_back(std::move(verdict.found));
  pending.origins.push_back(std::move(verdict.origin));
  pending.observation.reset();
  if (again) return submit_path(task, pending);
  auto [combined, worst] = combine(std::move(pending.rounds));
  Provenance& how = pending.origins[worst];
  if (restart(task, pending, combined, how)) return;
  if (draw(task, pending, combined, how)) return;
  emit(task, pending, std::move(combined), std::move(how));
}

bool Scheduler::draw(const TaskPtr& task, PendingVerdict& pending, const Findings& found,
                     const Provenance& origin) {
  const PlanItem& item = plan_.items[pending.item];
  const Path& path = plan_.paths[item.path];
  if (!options_.fresh_seed || task->on_aside || path.torchs_own || !path.compiles ||
      found.status != Status::conform || found.compiled_error)
    return false;
  auto drawn =
      fresh_case(*task->instance->declared,
                 mixed(*options_.fresh_seed + static_cast<std::uint64_t>(pending.draws), item.id));
  if (!drawn) return false;
  judge_aside(*task, pending.item, std::move(*drawn),
              [this, task, &pending, found, origin](Findings judged) {
                judged_draw(task, pending, found, origin, std::move(judged));
              });
  return true;
}

void Scheduler::judge_aside(const Task& task, std::size_t item, Case other,
                            std::function<void(Findings)> then) {
  auto another = std::make_shared<Task>();
  another->index = task.index;
  another->instance = task.instance;
  another->executed = std::make_shared<const Case>(std::move(other));
  another->items.emplace_back().item = item;
  another->on_aside = std::move(then);
  begin(another);
}

bool Scheduler::restart(const TaskPtr& task, PendingVerdict& pending, const Findings& found,
                        const Provenance& origin) {
  const Case& declared = task->declared();
  if (declared.program.carry.empty() || task->on_aside || found.compiled_error ||
      !info(found.status).judged() || info(found.status).crashed())
    return false;
  auto restarted = restarted_case(declared, *task->references[pending.reference].eager);
  if (!restarted) return false;
  judge_aside(*task, pending.item, std::move(*restarted),
              [this, task, &pending, found, origin](const Findings& judged) {
                judged_restart(task, pending, found, origin, judged);
              });
  return true;
}

void Scheduler::judged_restart(const TaskPtr& task, PendingVerdict& pending, Findings found,
                               Provenance origin, const Findings& restarted) {
  found.growth = growth_of(found, restarted);
  if (info(restarted.status).fails && !info(found.status).fails) {
    auto growth = std::move(found.growth);
    found = restarted;
    found.growth = std::move(growth);
    found.reason = "each call from eager's state: " + found.reason;
  }
  if (draw(task, pending, found, origin)) return;
  emit(task, pending, std::move(found), std::move(origin));
}

/// What fails on one draw may be a condition, or chance; on three it is the path.
void Scheduler::judged_draw(const TaskPtr& task, PendingVerdict& pending, Findings found,
                            Provenance origin, Findings drawn) {
  constexpr int kDraws = 3;
  ++pending.draws;
  if (info(drawn.status).fails && origin.shared > 0) {
    // On a draw it was compiled alone, as another program: that is what is to be compared with.
    pending.draws = 0;
    pending.rounds.clear();
    pending.origins.clear();
    return submit_path(task, pending);
  }
  if (info(drawn.status).fails) {
    if (pending.draws < kDraws && draw(task, pending, found, origin)) return;
    drawn.reason = fmt::format("on inputs that nobody had seen, {} draws of the seed {}: {}",
                               pending.draws, *options_.fresh_seed, drawn.reason);
    found = std::move(drawn);
    found.draws = pending.draws;
  } else if (drawn.status == Status::conform) {
    found.draws = pending.draws;
  }
  emit(task, pending, std::move(found), std::move(origin));
}

bool Scheduler::executes_again(const PendingVerdict& pending, const Verdict& verdict) const {
  const auto done = static_cast<int>(pending.rounds.size()) + 1;
  const bool repeated = !options_.repeated || options_.repeated(verdict.facts.id);
  if (repeated && done < options_.executions) return true;
  return done <= options_.retries && options_.worth_retrying && options_.worth_retrying(verdict);
}

}  // namespace lockstep
