// Parts of a program on eager's values.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "explain/distance.h"
#include "explain/operator_search.h"
#include "program/edit.h"

namespace lockstep {
namespace {

std::string status_text(const std::optional<Verdict>& verdict) {
  return verdict ? std::string(info(verdict->found.status).name) : "";
}

}  // namespace

Result<Case> OperatorSearch::part(const Places& steps,
                                  const std::vector<std::string>& outputs) const {
  std::vector<FlatStep> chosen;
  for (const std::size_t at : steps) chosen.push_back(flat_[at]);
  auto derived =
      part_of(*suspect_.declared, chosen, outputs, seen_.eager, bits_, suspect_.fault.call);
  // No contract covers the strides of intermediate values, unless they are the fault.
  if (derived && suspect_.fault.status != Status::metadata_diverges)
    derived->strides = StrideRule::ignore;
  const bool draws =
      std::any_of(steps.begin(), steps.end(), [&](std::size_t at) { return draws_.contains(at); });
  if (derived) derived->random = derived->random && draws;
  return derived;
}

OperatorSearch::Places OperatorSearch::producers_of(const Places& steps) const {
  Places producers;
  for (const std::size_t at : steps) {
    for (const std::string& name : uses_of(flat_[at].step)) {
      for (std::size_t i = 0; i < at; ++i) {
        const bool makes = contains(results_of(flat_[i].step), name);
        const auto there = [&](const Places& places) {
          return std::find(places.begin(), places.end(), i) != places.end();
        };
        if (makes && !there(steps) && !there(producers)) producers.push_back(i);
      }
    }
  }
  return producers;
}

void OperatorSearch::run_alone(std::vector<std::pair<std::size_t, Case>> parts,
                               const std::string& what) {
  std::vector<Trial> trials;
  for (auto& [step, derived] : parts) {
    derived.share = !draws_.contains(step);
    trials.push_back({trial_name(out_.steps[step].name + what),
                      std::make_shared<const Case>(std::move(derived)),
                      {suspect_.path}});
  }
  std::vector<std::vector<Tried>> tried = trials_.run(trials);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::size_t step = parts[k].first;
    Tried& one = tried[k].front();
    out_.steps[step].alone = status_text(one.verdict);
    if (one.diverges() && is_of_this_kind(*one.verdict)) alone_.push_back(step);
    tried_alone_.insert_or_assign(step, std::move(one.executed));
  }
}

/// Whether a part of the program diverges in the way of the whole one, as far as a part can: what
/// it returns has other magnitudes.
bool OperatorSearch::is_of_this_kind(const Verdict& verdict) const {
  const StatusInfo &is = info(verdict.found.status), &was = info(suspect_.fault.status);
  const bool values = is.rank == Rank::value || is.rank == Rank::nonfinite;
  return is.rank == was.rank || (values && suspect_.fault.is_value()) || was.rank == Rank::mutation;
}

void OperatorSearch::try_alone(const Places& steps) {
  std::vector<std::pair<std::size_t, Case>> parts;
  for (const std::size_t i : steps) {
    if (out_.steps[i].op.empty()) continue;
    auto derived = part({i}, tensors_of(i));
    if (derived && !derived->program.outputs.empty()) parts.emplace_back(i, std::move(*derived));
  }
  run_alone(std::move(parts), " alone");
  if (trials_.ran_out()) leave_open("each step alone: no time for all");
}

std::optional<bool> OperatorSearch::diverges_together(const Places& steps) {
  Places sorted = steps;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> outputs;
  std::string names;
  for (const std::size_t at : sorted) {
    names += (names.empty() ? "" : ", ") + out_.steps[at].name;
    for (std::string& name : tensors_of(at)) {
      const bool inside = std::any_of(sorted.begin(), sorted.end(), [&](std::size_t other) {
        return contains(uses_of(flat_[other].step), name);
      });
      if (!inside) outputs.push_back(std::move(name));
    }
  }
  auto derived = part(sorted, outputs);
  if (!derived || outputs.empty()) return std::nullopt;
  const Tried tried = trials_.run_one({trial_name(names + " together"),
                                       std::make_shared<const Case>(std::move(*derived)),
                                       {suspect_.path}});
  if (!tried.verdict) return std::nullopt;
  if (const auto does = does_wrong(steps.front(), tried.executed)) return does;
  return tried.diverges() && is_of_this_kind(*tried.verdict);
}

/// Whether what a part of the program makes of a step is as far from eager's as in the whole one,
/// whichever policy would let it pass; nothing: that is not known.
std::optional<bool> OperatorSearch::does_wrong(std::size_t step, const Executed& executed) const {
  const auto own = own_.find(step);
  const auto eager = eager_of(executed);
  if (own == own_.end() || !eager || !executed.compiled ||
      executed.compiled->outcome != Outcome::returned)
    return std::nullopt;
  GivenValues was, is;
  was.add(*eager, 0, false);
  is.add(*executed.compiled, 0, false);
  std::optional<double> most;
  for (const std::string& name : results_of(flat_[step].step)) {
    const TensorView *a = tensor_in(was, name), *b = tensor_in(is, name);
    if (a != nullptr && b != nullptr)
      most = std::max(most.value_or(0), distance(*a, *b).relative());
  }
  if (!most) return std::nullopt;
  return *most * kBand >= own->second;
}

/// The step gives what eager would not: by itself, or which others does it take?  Where neither is
/// seen, it is blamed for `how` it was found.
void OperatorSearch::find_company(std::size_t step, How how) {
  const auto tried = tried_alone_.find(step);
  const auto alone = tried == tried_alone_.end() ? std::nullopt : does_wrong(step, tried->second);
  if (alone.value_or(std::find(alone_.begin(), alone_.end(), step) != alone_.end()))
    return blame({step}, How::alone);
  blame({step}, how);
  const Places before = producers_of({step});
  Places after;
  for (std::size_t i = step + 1; i < flat_.size(); ++i) {
    const Places producers = producers_of({i});
    if (std::find(producers.begin(), producers.end(), step) != producers.end()) after.push_back(i);
  }
  Places neighbours = before;
  neighbours.insert(neighbours.end(), after.begin(), after.end());
  for (const std::size_t other : neighbours) {
    if (diverges_together({step, other}) == true) return blame({step, other}, How::fused);
  }
  // All that it is made of, one generation more each time.
  Places together = {step};
  for (Places more = before; !more.empty() && !trials_.time_is_up();
       more = producers_of(together)) {
    together.insert(together.end(), more.begin(), more.end());
    if (together.size() > 2 && diverges_together(together) == true)
      return blame(together, How::fused);
  }
}

Case OperatorSearch::beginning(std::size_t steps) const {
  Case derived = *suspect_.declared;
  const std::vector<std::string> whole = returned_values(derived.program);
  const std::vector<FlatStep> kept(flat_.begin(),
                                   flat_.begin() + static_cast<std::ptrdiff_t>(steps));
  Program& program = derived.program;
  std::set<std::string> made(program.inputs.begin(), program.inputs.end());
  std::vector<std::string> used, outputs;
  for (const FlatStep& each : kept) {
    for (std::string& name : uses_of(each.step)) used.push_back(std::move(name));
    for (std::string& name : results_of(each.step)) made.insert(std::move(name));
  }
  for (const FlatStep& each : kept) {
    for (std::string& name : results_of(each.step)) {
      const bool returned = contains(whole, name) || !contains(used, name);
      if (returned) outputs.push_back(std::move(name));
    }
  }
  for (const std::string& name : whole) {
    if (made.contains(name) && !contains(outputs, name)) outputs.push_back(name);
  }
  program.steps = nest(kept);
  program.outputs = returning(outputs);
  prune_carry(program);
  if (program.backward && !std::all_of(program.backward->of.begin(), program.backward->of.end(),
                                       [&](const auto& name) { return contains(outputs, name); }))
    program.backward.reset();
  std::erase_if(derived.compare, [&](const CompareRule& rule) {
    return !made.contains(rule.output) && rule.output.find('.') == std::string::npos;
  });
  derived.pointwise = false;
  note_operators(derived);
  return derived;
}

/// The shortest beginning of the program that diverges, found by halving.
void OperatorSearch::find_shortest_beginning() {
  std::size_t low = 0, high = flat_.size();  // that of `high` steps diverges
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    const Tried tried = trials_.run_one({trial_name(fmt::format("the first {} steps", middle)),
                                         std::make_shared<const Case>(beginning(middle)),
                                         {suspect_.path}});
    if (!tried.verdict) {
      leave_open("the shortest beginning of the program that diverges: no time");
      return;
    }
    const bool diverges = tried.diverges() && is_of_this_kind(*tried.verdict) &&
                          (!comparison_of(*tried.verdict, suspect_.fault.name, 0) ||
                           has(*tried.verdict, suspect_.fault));
    (diverges ? high : low) = middle;
  }
  // It may only show what an earlier one did.
  if (suspect_.fault.is_output() && !writes_) return find_company(high - 1, How::first);
  blame({high - 1}, How::first);
}

/// Eager raises: the step whose error it is, and whether the path diverges there alone.
void OperatorSearch::find_what_raises() {
  std::vector<Trial> beginnings;
  for (std::size_t steps = 1; steps <= flat_.size(); ++steps) {
    Case derived = beginning(steps);
    derived.raises.reset();
    beginnings.push_back({trial_name(fmt::format("eager's first {} steps", steps)),
                          std::make_shared<const Case>(std::move(derived)),
                          {eager_path_of(flat_, suspect_.path)}});
  }
  const std::vector<std::vector<Tried>> tried = trials_.run(beginnings);
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const auto eager = what_eager_did(tried[i].front().executed);
    if (!eager) return leave_open("which step raises: no time");
    if (eager->outcome == Outcome::returned) continue;
    blame({i}, How::raises);
    std::vector<std::string> names;
    for (std::size_t k = 0; k < i; ++k) {
      for (std::string& name : results_of(flat_[k].step)) names.push_back(std::move(name));
    }
    Case before = i == 0 ? beginning(1) : beginning(i);
    if (i == 0) {  // nothing but the inputs
      before.program.steps.clear();
      before.program.outputs = returning(before.program.inputs);
      note_operators(before);
    }
    const Observed observed = observe(before, names, false, suspect_.registry);
    const Tried known = trials_.run_one({trial_name("eager before it"),
                                         std::make_shared<const Case>(observed.declared),
                                         {eager_path_of(flat_, suspect_.path)}});
    take_values(known, observed);
    auto derived = part({i}, results_of(flat_[i].step));
    if (!derived) return;
    const Tried alone = trials_.run_one({trial_name(out_.steps[i].name + " alone"),
                                         std::make_shared<const Case>(std::move(*derived)),
                                         {suspect_.path}});
    out_.steps[i].alone = status_text(alone.verdict);
    return;
  }
}

}  // namespace lockstep
