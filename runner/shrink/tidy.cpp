#include "shrink/tidy.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "explain/derive.h"
#include "program/visit.h"

namespace lockstep {
namespace {

/// Gives literal tensors the places of those that are left.
struct Renumber : Visitor {
  std::map<std::size_t, std::size_t> places;
  void step(Step& step) {
    if (auto* literal = std::get_if<LiteralTensor>(&step.does))
      literal->index = places.emplace(literal->index, places.size()).first->second;
  }
};

/// The steps that matter, from the last to the first: their results are used later, they write to a
/// tensor, or the program has them though nobody uses their results.
std::vector<FlatStep> live_steps(const Program& program, const Registry* registry,
                                 std::set<std::string>& used) {
  std::vector<FlatStep> flat = flatten(program.steps), kept;
  for (auto step = flat.rbegin(); step != flat.rend(); ++step) {
    const std::vector<std::string> results = results_of(step->step);
    // A step of whose results nobody has a name is there for its own sake.
    const auto& let = step->step.let;
    const bool nameless =
        !let.empty() && std::none_of(let.begin(), let.end(), [](const auto& name) { return name; });
    const bool needed = nameless || writes(step->step, registry) ||
                        std::any_of(results.begin(), results.end(),
                                    [&](const auto& name) { return used.contains(name); });
    if (!needed) continue;
    // One name for each result: what is not used has none; a single result keeps its own.
    if (step->step.let.size() > 1) {
      for (auto& name : step->step.let) {
        if (name && !used.contains(*name)) name.reset();
      }
    }
    for (std::string& name : uses_of(step->step)) used.insert(std::move(name));
    kept.push_back(std::move(*step));
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace

bool tidy(Case& declared, const Registry* registry) {
  Program& program = declared.program;
  const std::vector<std::string> returned = returned_values(program);
  std::set<std::string> used(returned.begin(), returned.end());
  if (program.backward && program.backward->with)
    used.insert(program.backward->with->begin(), program.backward->with->end());
  for (const auto& [input, from] : program.carry) {
    if (contains(program.inputs, from)) used.insert(from);
  }
  const std::vector<FlatStep> kept = live_steps(program, registry, used);
  const bool any_effect = std::any_of(
      kept.begin(), kept.end(), [&](const FlatStep& each) { return writes(each.step, registry); });
  if (kept.empty() || (program.outputs.empty() && !any_effect)) return false;
  program.steps = nest(kept);
  // What a tensor is a view of stays with it.
  for (const CallSpec& call : declared.calls) {
    for (const InputSpec& input : call.inputs) {
      const auto* spec = std::get_if<TensorSpec>(&input.value);
      if (spec != nullptr && !spec->view_of.empty() && used.contains(input.name))
        used.insert(spec->view_of);
    }
  }
  const auto gone = [&](const std::string& name) { return !used.contains(name); };
  std::erase_if(program.inputs, gone);
  std::erase_if(program.constants, gone);
  prune_carry(program);
  bool any_gradient = false;
  for (CallSpec& call : declared.calls) {
    std::erase_if(call.inputs, [&](const InputSpec& input) { return gone(input.name); });
    for (const InputSpec& input : call.inputs) {
      const auto* spec = std::get_if<TensorSpec>(&input.value);
      any_gradient = any_gradient || (spec != nullptr && spec->requires_grad);
    }
  }
  if (declared.prepare) {
    PrepareSpec& prepare = *declared.prepare;
    std::erase_if(prepare.program.outputs, [&](const Value& output) {
      const auto* ref = std::get_if<Ref>(&output.is);
      return ref != nullptr && gone(ref->name);
    });
    std::erase_if(prepare.requires_grad, gone);
    any_gradient = any_gradient || !prepare.requires_grad.empty();
    if (prepare.program.outputs.empty()) {
      declared.prepare.reset();
    } else {
      Case made;
      made.program = prepare.program;
      made.literals = prepare.literals;
      made.calls.emplace_back();
      if (!tidy(made, registry)) return false;
      prepare.program = std::move(made.program);
      prepare.literals = std::move(made.literals);
    }
  }
  if (program.backward && !any_gradient) program.backward.reset();
  std::erase_if(declared.compare, [&](const CompareRule& rule) {
    const std::string name = rule.output.substr(0, rule.output.find('.'));
    const bool gradient = name != rule.output;
    return gradient ? gone(name) || !program.backward
                    : !contains(returned, name) && !contains(program.inputs, name);
  });
  Renumber renumber;
  walk(program, renumber);
  std::vector<TensorSpec> literals(renumber.places.size());
  for (const auto& [from, to] : renumber.places) literals[to] = declared.literals[from];
  declared.literals = std::move(literals);
  note_operators(declared);
  return true;
}

}  // namespace lockstep
