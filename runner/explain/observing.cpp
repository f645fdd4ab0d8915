// What a program computes on its way, seen in the program that diverges.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "explain/distance.h"
#include "explain/operator_search.h"
#include "judge/results.h"
#include "program/edit.h"

namespace lockstep {
namespace {

constexpr GoldSet kPlainGolds = gold_set({Gold::fp64, Gold::stepwise});

}  // namespace

void OperatorSearch::take_values(const Tried& tried, const Observed& observed) {
  const std::size_t call = suspect_.fault.call;
  const auto take = [&](const std::shared_ptr<const Observation>& from, GivenValues& into,
                        bool inputs) {
    if (!from || from->outcome != Outcome::returned) return;
    GivenValues returned;
    returned.add(*from, call, inputs);
    for (const auto& [name, as] : observed.seen_as) {
      const auto value = returned.of.find(as);
      if (value != returned.of.end()) into.of.insert_or_assign(name, value->second);
      for (std::size_t i = 0;; ++i) {  // the elements of a list stand beside it
        const auto element = returned.of.find(fmt::format("{}[{}]", as, i));
        if (element == returned.of.end()) break;
        into.of.insert_or_assign(fmt::format("{}[{}]", name, i), element->second);
      }
    }
    if (inputs) {
      for (const std::string& name : suspect_.declared->program.inputs) {
        const auto value = returned.of.find(name);
        if (value != returned.of.end()) into.of.insert_or_assign(name, value->second);
      }
    }
    into.storages.insert(into.storages.end(), returned.storages.begin(), returned.storages.end());
  };
  take(eager_of(tried.executed), seen_.eager, true);
  take(tried.executed.compiled, seen_.compiled, true);
  take(tried.executed.golds[Gold::fp64], seen_.fp64, false);
  take(tried.executed.golds[Gold::stepwise], seen_.stepwise, false);
}

void OperatorSearch::see_all() {
  std::vector<std::string> names;
  for (const FlatStep& each : flat_) {
    for (std::string& name : results_of(each.step)) names.push_back(std::move(name));
  }
  const Observed observed = observe(*suspect_.declared, names, bits_, suspect_.registry);
  Tried tried = trials_.run_one({trial_name("every value seen"),
                                 std::make_shared<const Case>(observed.declared),
                                 {suspect_.path}},
                                kPlainGolds);
  if (!tried.verdict) {
    leave_open("which operator it is: there was no time to see what the program computes");
    return;
  }
  const auto eager = eager_of(tried.executed), did = what_eager_did(tried.executed);
  eager_returns_ = eager != nullptr;
  eager_raises_ = did && did->outcome == Outcome::raised;
  const bool stays = has(*tried.verdict, suspect_.fault);
  out_.observing = stays ? "stays" : "vanishes";
  if (!eager_returns_) return;
  find_draws(*eager, observed);
  const GivenValues none;
  take_values(tried, observed);
  if (!stays) {
    seen_.compiled = none;
    if (suspect_.fault.is_value() && suspect_.fault.is_output()) see_in_turn(names);
    return;
  }
  for (std::size_t i = 0; i < flat_.size(); ++i) {
    for (const std::string& name : results_of(flat_[i].step)) {
      const auto as = observed.seen_as.find(name);
      if (as == observed.seen_as.end()) continue;
      const OutputComparison* output =
          comparison_of(*tried.verdict, as->second, suspect_.fault.call);
      if (output == nullptr) continue;
      if (output->differing > 0 || output->status != Status::conform)
        out_.steps[i].value = "differs";
      else if (out_.steps[i].value.empty())
        out_.steps[i].value = "same";
    }
  }
}

/// Fills `draws_`, from an execution whose last repetition has another seed.  One too many does no
/// harm: what draws is executed wherever the generator has to be where it was.
void OperatorSearch::find_draws(const Observation& eager, const Observed& observed) {
  const std::size_t call = suspect_.fault.call;
  if (!suspect_.declared->random || call >= eager.repetitions.front().size()) return;
  const auto &first = eager.repetitions.front()[call].outputs,
             &last = eager.repetitions.back()[call].outputs;
  const auto changes = [&](const std::string& as) {
    for (std::size_t i = 0; i < std::min(first.size(), last.size()); ++i) {
      const std::string& name = first[i].first;
      const bool is_its = name == as || name.starts_with(as + "[");  // an element of a list
      if (is_its && !same_bits(first[i].second, last[i].second)) return true;
    }
    return false;
  };
  const auto may_draw = [&](const Step& step) {
    const auto* op = std::get_if<OpCall>(&step.does);
    if (op == nullptr) return std::holds_alternative<FunctionCall>(step.does);
    const Overload* overload =
        suspect_.registry == nullptr ? nullptr : suspect_.registry->find_overload(op->op);
    return overload == nullptr || overload->has_tag("nondeterministic_seeded");
  };
  for (std::size_t i = 0; i < flat_.size(); ++i) {
    if (!may_draw(flat_[i].step)) continue;
    for (const std::string& name : results_of(flat_[i].step)) {
      const auto as = observed.seen_as.find(name);
      if (as != observed.seen_as.end() && changes(as->second)) draws_.insert(i);
    }
  }
}

void OperatorSearch::see_in_turn(const std::vector<std::string>& names) {
  std::vector<Trial> each;
  std::vector<Observed> seen;
  const std::vector<std::string> returned = returned_values(suspect_.declared->program);
  for (const std::string& name : names) {
    if (contains(returned, name)) continue;
    seen.push_back(observe(*suspect_.declared, {name}, bits_, suspect_.registry));
    each.push_back({trial_name(name + " seen"),
                    std::make_shared<const Case>(seen.back().declared),
                    {suspect_.path}});
  }
  const std::vector<std::vector<Tried>> tried = trials_.run(each, kPlainGolds);
  bool missing = false;
  for (std::size_t i = 0; i < each.size(); ++i) {
    const Tried& one = tried[i].front();
    missing = missing || !one.verdict;
    if (!one.verdict) continue;
    const std::string& name = seen[i].seen_as.begin()->first;
    if (!has(*one.verdict, suspect_.fault)) {
      out_.ended_by.push_back(name);
      continue;
    }
    take_values(one, seen[i]);
    const OutputComparison* output =
        comparison_of(*one.verdict, seen[i].seen_as.begin()->second, suspect_.fault.call);
    for (ExplainedStep& step : out_.steps) {
      if (step.name == name && output != nullptr)
        step.value = output->differing > 0 ? "differs" : "same";
    }
  }
  if (missing) leave_open("which values end the divergence when they are seen: no time");
  // What the program returns anyway is as it was.
  Observed outputs{*suspect_.declared, {}};
  for (const std::string& name : returned) outputs.seen_as[name] = name;
  const Tried plain =
      trials_.run_one({trial_name("as it is"), suspect_.declared, {suspect_.path}}, kPlainGolds);
  if (plain.verdict) take_values(plain, outputs);
}

std::optional<GivenValues> OperatorSearch::remade_by_eager(const Places& steps) {
  std::set<std::string> taken = defined_names(suspect_.declared->program);
  std::vector<FlatStep> renamed;
  std::vector<std::string> outputs;
  std::vector<std::pair<std::string, std::string>> made;
  for (const std::size_t at : steps) {
    FlatStep step = flat_[at];
    for (auto& name : step.step.let) {
      if (!name) continue;
      std::string as = free_name(*name + "_made", taken);
      made.emplace_back(*name, as);
      outputs.push_back(as);
      name = std::move(as);
    }
    renamed.push_back(std::move(step));
  }
  auto derived =
      part_of(*suspect_.declared, renamed, outputs, seen_.compiled, false, suspect_.fault.call);
  if (!derived) {
    leave_open("what eager makes of compiled values: " + derived.error().message);
    return std::nullopt;
  }
  seed_as_there(*derived);
  const Tried tried = trials_.run_one({trial_name("eager on what compiled steps were given"),
                                       std::make_shared<const Case>(std::move(*derived)),
                                       {eager_path_of(renamed, suspect_.path)}});
  const auto eager = eager_of(tried.executed);
  if (!eager) return std::nullopt;
  GivenValues returned, remade;
  returned.add(*eager, 0, false);
  for (const auto& [name, as] : made) {
    const auto value = returned.of.find(as);
    if (value != returned.of.end()) remade.of.insert_or_assign(name, value->second);
  }
  remade.storages = std::move(returned.storages);
  return remade;
}

OperatorSearch::Places OperatorSearch::unlike_eager() {
  if (writes_) {
    leave_open("what each step was given: the program writes to its values");
    return {};
  }
  Places steps;
  const auto known = [&](const std::string& name) { return seen_.compiled.of.contains(name); };
  for (std::size_t i = 0; i < flat_.size(); ++i) {
    const std::vector<std::string> results = results_of(flat_[i].step),
                                   uses = uses_of(flat_[i].step);
    const bool gives = std::any_of(results.begin(), results.end(), known);
    const bool can_be_made = gives && std::all_of(uses.begin(), uses.end(), known);
    if (!can_be_made && draws_.contains(i)) {
      leave_open("what each step would draw: it is not known what all of them were given");
      return {};
    }
    if (can_be_made) steps.push_back(i);
  }
  if (steps.empty()) return {};
  const auto remade = remade_by_eager(steps);
  if (!remade) return {};
  Places unlike;
  for (const std::size_t at : steps) {
    out_.steps[at].explained = "yes";
    for (const std::string& name : results_of(flat_[at].step)) {
      const auto is = seen_.compiled.of.find(name);
      const auto was = remade->of.find(name);
      if (is == seen_.compiled.of.end() || was == remade->of.end()) continue;
      if (same_bits(was->second, is->second)) continue;
      out_.steps[at].explained = "no";
      const auto *made = std::get_if<TensorView>(&was->second),
                 *given = std::get_if<TensorView>(&is->second);
      if (made != nullptr && given != nullptr)
        own_[at] = std::max(own_[at], distance(*made, *given).relative());
    }
    if (out_.steps[at].explained == "no") unlike.push_back(at);
  }
  return unlike;
}

/// A step after the accused one that does what eager does, and makes much of a small difference.
void OperatorSearch::note_amplifier(std::size_t from) {
  constexpr double kMuch = 100;
  const auto apart = [&](const std::string& name) {
    const auto *eager = tensor_in(seen_.eager, name), *compiled = tensor_in(seen_.compiled, name);
    return eager == nullptr || compiled == nullptr ? 0.0 : distance(*eager, *compiled).relative();
  };
  for (std::size_t i = from + 1; i < flat_.size(); ++i) {
    if (out_.steps[i].explained != "yes") continue;
    double in = 0, out = 0;
    for (const std::string& name : uses_of(flat_[i].step)) in = std::max(in, apart(name));
    for (const std::string& name : results_of(flat_[i].step)) out = std::max(out, apart(name));
    if (in == 0 || out < kMuch * in) continue;
    out_.amplifier = out_.steps[i].op;
    return;
  }
}

}  // namespace lockstep
