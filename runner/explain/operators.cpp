#include "explain/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "explain/operator_search.h"
#include "program/print.h"
#include "run/task.h"

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

Path eager_path_of(std::span<const FlatStep> steps, const Path& on_trial) {
  if (!call_functions(nest(steps))) return eager_path();
  const bool operators = std::any_of(steps.begin(), steps.end(), [](const FlatStep& each) {
    const auto* call = std::get_if<FunctionCall>(&each.step.does);
    return call != nullptr && is_operator(*call);
  });
  Path path = eager_path();
  path.name = "python";
  path.worker = "compiled";
  path.declared = {
      {"format", kPathFormat},
      {"name", path.name},
      {"worker", path.worker},
      {"backend", nullptr},
      {"mode", nullptr},
      {"dynamic", false},
      {"fullgraph", true},
      {"import", operators ? on_trial.declared.value("import", Json::array()) : Json::array()},
      {"config", Json::object()}};
  return path;
}

std::shared_ptr<const Observation> what_eager_did(const Executed& executed) {
  if (executed.eager && executed.eager->outcome != Outcome::unsupported) return executed.eager;
  if (!executed.compiled) return nullptr;
  // Python eager is a path, too, and has no reference.
  if (!executed.compiled->reference)
    return executed.compiled->stage == "eager" ? executed.compiled : nullptr;
  auto own = std::make_shared<Observation>(*executed.compiled->reference);
  const auto& more = executed.compiled->storages;  // some of what it returned lies there
  own->storages.insert(own->storages.end(), more.begin(), more.end());
  return own;
}

std::shared_ptr<const Observation> eager_of(const Executed& executed) {
  auto eager = what_eager_did(executed);
  const bool returned = eager && eager->outcome == Outcome::returned && !eager->repetitions.empty();
  return returned ? eager : nullptr;
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
    if (each.step.source) step.source = print(*each.step.source);
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
    if (eager_raises_) find_what_raises();
    if (!suspect_.brief) confirm();
    return std::move(seen_);
  }
  const Fault& fault = suspect_.fault;
  if (fault.is_gradient()) {
    try_gradients();
    return std::move(seen_);
  }
  Places wrong;
  if (fault.shown && fault.is_output()) wrong = steps_of_the_difference();
  if (!wrong.empty() && suspect_.brief) {
    try_alone({wrong.front()});
  } else {
    try_alone(all_steps());
  }
  if (!wrong.empty()) {
    find_company(wrong.front(), How::value);
    note_amplifier(wrong.front());
    for (const std::size_t at : wrong) {
      if (std::find(out_.guilty.begin(), out_.guilty.end(), at) == out_.guilty.end())
        out_.also.push_back(at);
    }
    if (!suspect_.brief) name_cast(wrong.front());
  } else if (spread_) {
    // Many steps round otherwise, and nobody is to blame.
  } else if (!alone_.empty()) {
    find_alone();
    if (!suspect_.brief && !out_.guilty.empty()) name_cast(out_.guilty.front());
  } else if (flat_.size() > 1) {
    find_shortest_beginning();
  }
  if (!suspect_.brief) confirm();
  return std::move(seen_);
}

/// The steps that an output's difference comes from, the greatest first.  Where it cannot be
/// followed to the output, those that eager computes otherwise, by what each does wrong itself.
OperatorSearch::Places OperatorSearch::steps_of_the_difference() {
  Places unlike = unlike_eager();
  if (unlike.empty()) return {};
  if (trace(unlike)) {
    Places greatest = greatest_contributions();
    spread_ = greatest.empty();
    if (spread_)
      out_.besides.push_back(
          fmt::format("{} steps compute other bits than eager, and none of them adds a tenth of it",
                      unlike.size()));
    return greatest;
  }
  std::stable_sort(unlike.begin(), unlike.end(),
                   [&](std::size_t a, std::size_t b) { return own_[a] > own_[b]; });
  unlike.resize(1);
  return unlike;
}

}  // namespace lockstep
