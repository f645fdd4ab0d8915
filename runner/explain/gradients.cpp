// The backward of the steps of a program.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "explain/distance.h"
#include "explain/operator_search.h"
#include "judge/numerics/gold.h"
#include "judge/numerics/walk.h"
#include "program/edit.h"

namespace lockstep {
namespace {

/// Whether a tensor can have a gradient.
bool is_differentiable(const TensorView& view) {
  return view.dtype != nullptr && (view.dtype->is_floating() || view.dtype->is_complex());
}

/// b − a, rounded to their dtype, which is floating; an error where a case cannot say it.
Result<TensorSpec> difference_of(const TensorView& a, const TensorView& b) {
  auto spec = spec_of(a);
  if (!spec) return spec;
  if (a.shape != b.shape || a.dtype != b.dtype || !a.dtype->is_floating())
    return fail("the gradients differ in more than values");
  spec->strides = contiguous_strides(a.shape);
  spec->storage_elements = a.elements();
  spec->conj = spec->neg = false;
  LiteralFill fill;
  const std::array<const TensorView*, 2> views = {&a, &b};
  const TensorWalk walk(views, TensorWalk::Order::index);
  std::array<double, static_cast<std::size_t>(TensorWalk::kBlock)> x{}, y{};
  walk.visit(0, walk.elements(), [&](std::int64_t, std::int64_t count, const auto& blocks) {
    decode_block(*a.dtype, blocks[0], static_cast<std::size_t>(count), x.data());
    decode_block(*a.dtype, blocks[1], static_cast<std::size_t>(count), y.data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      fill.elements.push_back({encode_float(*a.dtype, y[i] - x[i]), 0});
  });
  spec->fill = std::move(fill);
  return spec;
}

}  // namespace

/// Eager's gradients of all that lies between.
OperatorSearch::HandedGradients OperatorSearch::gradients_of_eager() {
  const Program& program = suspect_.declared->program;
  Case whole = *suspect_.declared;
  std::set<std::string> taken = defined_names(program);
  GradCall grad;
  for (const std::string& name : program.backward->of) grad.of.push_back({Ref{name}});
  if (program.backward->with) {
    grad.with.emplace();
    for (const std::string& name : *program.backward->with) grad.with->push_back({Ref{name}});
  }
  HandedGradients handed;
  Step asks;
  for (std::size_t i = 0; i < flat_.size(); ++i) {
    for (const std::string& name : tensors_of(i)) {
      const TensorView* view = tensor_in(seen_.eager, name);
      if (view == nullptr || !view->requires_grad || !is_differentiable(*view)) continue;
      const std::string as = free_name(name + "_grad", taken);
      handed.names[name] = as;
      grad.wrt.push_back({Ref{name}});
      asks.let.emplace_back(as);
    }
  }
  asks.does = std::move(grad);
  whole.program.backward.reset();
  whole.program.steps.push_back(asks);
  for (const auto& [name, as] : handed.names) whole.program.outputs.push_back({Ref{as}});
  const Tried eager = trials_.run_one({trial_name("eager's gradients"),
                                       std::make_shared<const Case>(std::move(whole)),
                                       {eager_path_of(flat_, suspect_.path)}});
  if (const auto returned = eager_of(eager.executed))
    handed.values.add(*returned, suspect_.fault.call, false);
  return handed;
}

/// A step and its backward as a case of their own; nothing where the backward hands it nothing.
std::optional<Case> OperatorSearch::gradient_part(std::size_t step,
                                                  const HandedGradients& handed) const {
  Backward backward;
  backward.with.emplace();
  auto derived = part({step}, tensors_of(step));
  if (!derived) return std::nullopt;
  CallSpec& call = derived->calls.front();
  for (const std::string& name : tensors_of(step)) {
    const auto as = handed.names.find(name);
    const TensorView* gradient =
        as == handed.names.end() ? nullptr : tensor_in(handed.values, as->second);
    if (gradient == nullptr) continue;
    auto spec = spec_of(*gradient);
    if (!spec) continue;
    backward.of.push_back(name);
    backward.with->push_back(as->second);
    derived->program.inputs.push_back(as->second);
    call.inputs.push_back({as->second, std::move(*spec)});
  }
  for (InputSpec& input : call.inputs) {
    const TensorView* view = tensor_in(seen_.eager, input.name);
    auto* spec = std::get_if<TensorSpec>(&input.value);
    if (spec != nullptr && view != nullptr && view->requires_grad) spec->requires_grad = true;
  }
  if (backward.of.empty()) return std::nullopt;
  if (bits_) {
    for (const InputSpec& input : call.inputs)
      derived->compare.push_back({input.name + ".grad", "*", Policy()});
  }
  derived->program.backward = std::move(backward);
  return std::move(*derived);
}

/// What a wrong gradient of a step's inputs comes to at the gradient that the fault is about:
/// eager's backward of all before it is linear, so it is asked of the difference alone.
std::optional<Case> OperatorSearch::carried_back(std::size_t step) const {
  const auto alone = tried_alone_.find(step);
  if (alone == tried_alone_.end()) return std::nullopt;
  const auto eager = eager_of(alone->second);
  const auto& compiled = alone->second.compiled;
  if (!eager || !compiled || compiled->outcome != Outcome::returned ||
      compiled->repetitions.empty() || compiled->repetitions.front().empty())
    return std::nullopt;
  const std::string leaf = suspect_.fault.name.substr(kGradientPrefix.size());
  Case whole = *suspect_.declared;
  std::set<std::string> taken = defined_names(whole.program);
  GradCall grad;
  grad.with.emplace();
  grad.wrt.push_back({Ref{leaf}});
  for (const auto& [name, value] : eager->repetitions.front().front().grads) {
    for (const auto& [same, other] : compiled->repetitions.front().front().grads) {
      const auto *a = std::get_if<TensorView>(&value), *b = std::get_if<TensorView>(&other);
      if (same != name || a == nullptr || b == nullptr || distance(*a, *b).greatest == 0) continue;
      auto spec = difference_of(*a, *b);
      if (!spec) return std::nullopt;
      const std::string as = free_name(name + "_wrong", taken);
      grad.of.push_back({Ref{name}});
      grad.with->push_back({Ref{as}});
      whole.program.inputs.push_back(as);
      whole.calls.front().inputs.push_back({as, std::move(*spec)});
    }
  }
  if (grad.of.empty()) return std::nullopt;
  const std::string carried = free_name("carried", taken);
  whole.program.backward.reset();
  whole.program.steps.push_back({{carried}, std::move(grad)});
  whole.program.outputs = returning({carried});
  whole.compare.clear();
  note_operators(whole);
  return whole;
}

/// The steps of whose backward most of the wrong gradient comes, the greatest first.
OperatorSearch::Places OperatorSearch::greatest_gradients() {
  const auto& magnitude = suspect_.fault.magnitude;
  if (!magnitude || magnitude->absolute == 0 || suspect_.declared->calls.size() != 1) return {};
  std::vector<Trial> trials;
  Places of;
  for (std::size_t i = 0; i < flat_.size(); ++i) {
    auto derived = carried_back(i);
    if (!derived) continue;
    trials.push_back({trial_name(out_.steps[i].name + "'s gradient carried back"),
                      std::make_shared<const Case>(std::move(*derived)),
                      {eager_path_of(flat_, suspect_.path)}});
    of.push_back(i);
  }
  if (trials.empty()) return {};
  const std::vector<std::vector<Tried>> tried = trials_.run(trials);
  for (std::size_t k = 0; k < of.size(); ++k) {
    const auto carried = eager_of(tried[k].front().executed);
    if (!carried) continue;
    const auto& outputs = carried->repetitions.front().front().outputs;
    const auto* view = outputs.empty() ? nullptr : std::get_if<TensorView>(&outputs.front().second);
    if (view != nullptr)
      out_.steps[of[k]].adds = distance(*view, *view).scale / magnitude->absolute;
  }
  return greatest_contributions();
}

/// The backward of each step alone, on eager's values and eager's incoming gradients.
void OperatorSearch::try_gradients() {
  if (!suspect_.declared->program.backward) {
    try_alone(all_steps());
    if (!alone_.empty())
      find_alone();
    else
      find_shortest_beginning();
    return;
  }
  const HandedGradients handed = gradients_of_eager();
  std::vector<std::pair<std::size_t, Case>> parts;
  for (std::size_t i = 0; i < flat_.size(); ++i) {
    if (out_.steps[i].op.empty()) continue;
    if (auto derived = gradient_part(i, handed)) parts.emplace_back(i, std::move(*derived));
  }
  run_alone(std::move(parts), "'s gradient alone");
  if (flat_.size() == 1) {
    out_.certain = true;
    return blame({0}, How::gradient);
  }
  if (const Places greatest = greatest_gradients(); !greatest.empty()) {
    blame({greatest.front()}, How::gradient);
    out_.also.assign(greatest.begin() + 1, greatest.end());
    const ExplainedStep& step = out_.steps[greatest.front()];
    out_.certain = step.adds <= kBand;
    out_.borne_out.push_back(
        fmt::format("what the backward of `{}` does wrong alone comes to {:.0f} % of it, carried "
                    "back by eager",
                    step.name, 100 * step.adds));
    return;
  }
  // The first of the backward is the last of the program.
  if (!alone_.empty() && !suspect_.fault.magnitude) return blame({alone_.back()}, How::gradient);
  leave_open(
      "which operator's gradient it is: no step's backward diverges alone, on what eager's hands "
      "it");
}

}  // namespace lockstep
