#include "explain/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "explain/operator_search.h"
#include "program/print.h"

namespace lockstep {
namespace {

/// "to.dtype", "relu", "torch.nn.functional.gelu"; empty of a step that calls nothing.
std::string operator_of(const Step& step) {
  if (const auto* call = std::get_if<FunctionCall>(&step.does)) return call->function;
  const auto* op = std::get_if<OpCall>(&step.does);
  if (op == nullptr) return "";
  std::string name = op->op.starts_with("aten::") ? op->op.substr(6) : op->op;
  if (name.ends_with(".default")) name.resize(name.size() - 8);
  return name;
}

}  // namespace

Path eager_path() {
  Path path;
  path.name = "eager";
  path.contract = Contract::bits;
  path.worker = "eager";
  path.devices = {"*"};
  path.declared = {{"format", kPathFormat}, {"name", "eager"}, {"worker", "eager"}};
  return path;
}

SeenValues find_operators(const Suspect& suspect, Trials& trials, Explanation& explanation) {
  return OperatorSearch(suspect, trials, explanation).run();
}

OperatorSearch::OperatorSearch(const Suspect& suspect, Trials& trials, Explanation& explanation)
    : suspect_(suspect),
      trials_(trials),
      out_(explanation),
      flat_(flatten(suspect.declared->program.steps)),
      bits_(suspect.fault.bits) {
  for (const FlatStep& each : flat_) {
    writes_ = writes_ || writes(each.step, suspect.registry);
    ExplainedStep step;
    for (const std::string& name : results_of(each.step)) {
      if (step.name.empty()) step.name = name;
    }
    step.text = print(
        std::span(&each.step, 1), [](std::size_t) { return "tensor"; }, "");
    while (step.text.ends_with('\n')) step.text.pop_back();
    step.op = operator_of(each.step);
    out_.steps.push_back(std::move(step));
  }
}

std::string OperatorSearch::trial_name(const std::string& what) const {
  return fmt::format("{} ({})", suspect_.name, what);
}

std::vector<std::string> OperatorSearch::tensors_of(std::size_t step) const {
  std::vector<std::string> names;
  for (std::string& name : results_of(flat_[step].step)) {
    const auto found = seen_.eager.of.find(name);
    if (found != seen_.eager.of.end()) names.push_back(std::move(name));
  }
  return names;
}

OperatorSearch::Places OperatorSearch::all_steps() const {
  Places all(flat_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

void OperatorSearch::leave_open(const std::string& question) {
  if (!contains(out_.open, question)) out_.open.push_back(question);
}

void OperatorSearch::blame(Places steps, How how) {
  std::sort(steps.begin(), steps.end());
  out_.guilty = std::move(steps);
  out_.how = how;
}

SeenValues OperatorSearch::run() {
  see_all();
  if (!eager_returns_) {
    find_what_raises();
    return std::move(seen_);
  }
  const Fault& fault = suspect_.fault;
  if (fault.is_gradient()) {
    try_gradients();
    return std::move(seen_);
  }
  Places wrong;
  bool rounding = false;
  if (fault.is_value() && fault.is_output()) {
    wrong = unexplained();
    if (wrong.empty() &&
        !bits_) {  // rounding, which the contract bears until something magnifies it
      bits_ = true;
      wrong = unexplained();
      rounding = !wrong.empty();
      bits_ = rounding;
    }
  }
  if (!wrong.empty() && suspect_.brief) {
    try_alone({wrong.front()});
  } else {
    try_alone(all_steps());
  }
  if (!wrong.empty()) {
    find_company(wrong.front(), How::value);
    if (rounding) note_amplifier(wrong.front());
    if (!suspect_.brief) name_cast(wrong.front());
  } else if (!alone_.empty()) {
    blame({alone_.front()}, How::alone);
    if (!suspect_.brief) name_cast(alone_.front());
  } else if (flat_.size() > 1) {
    find_shortest_beginning();
  }
  return std::move(seen_);
}

}  // namespace lockstep
