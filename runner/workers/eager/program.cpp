#include "workers/eager/program.h"

#include <ATen/core/Tensor.h>

#include "program/higher_order.h"
#include "program/visit.h"
#include "workers/eager/applied.h"
#include "workers/eager/autograd.h"
#include "workers/eager/carry.h"
#include "workers/eager/context.h"
#include "workers/eager/correct.h"
#include "workers/eager/errors.h"
#include "workers/eager/index.h"
#include "workers/eager/names.h"
#include "workers/eager/operators.h"
#include "workers/eager/scalars.h"

namespace lockstep::eager {

using c10::IValue;
using nlohmann::json;

namespace {

IValue build(TensorSource& source, const json& view) {
  return or_unsupported("a tensor cannot be built", [&] { return IValue(source.build(view)); });
}

}  // namespace

Interpreter::Interpreter(const Sources& sources, Mode mode, const json& inputs, int sample,
                         std::shared_ptr<const Carried> carried)
    : sources_(sources),
      mode_(mode),
      inputs_(inputs),
      carried_(std::move(carried)),
      tensors_(sources.files, sources.device, is_wide(mode) ? Width::widest : Width::as_given) {
  build_inputs();
  if (is_narrow(mode)) plain_ = plain_eager();
  if (is_noise(mode)) {
    noise_.emplace(mode == Gold::fp64_noise ? Noise::Of::rounding : Noise::Of::kernels,
                   static_cast<std::uint64_t>(sample));
  }
}

void Interpreter::build_inputs() {
  std::map<std::string, std::string> lost;  // and why
  for (const auto& [name, value] : inputs_.items()) {
    if (take_carried(name, value)) continue;
    const bool is_view = value.is_object() && value.contains("storage");
    if (!is_view) {
      scope_[name] = to_ivalue(parse_value(value), {});
      continue;
    }
    if (mode_ == Gold::perturbed) tensors_.perturb(value.at("storage").get<std::size_t>());
    try {
      scope_[name] = build(tensors_, value);
    } catch (const Unsupported& lacking) {
      if (mode_ == kPlain) throw;
      lost[name] = lacking.what();
    }
  }
  for (const auto& [name, reason] : lost) {
    std::vector<IValue> sharing;
    for (const auto& [other, value] : inputs_.items()) {
      if (!scope_.contains(other) || !scope_.at(other).isTensor()) continue;
      if (carried_ && carried_->values.contains(other)) continue;
      if (value.at("storage") == inputs_.at(name).at("storage"))
        sharing.push_back(scope_.at(other));
    }
    losses_.lose_input(name, reason, sharing);
  }
}

std::unique_ptr<Interpreter> Interpreter::plain_eager() const {
  auto plain = std::make_unique<Interpreter>(sources_, kPlain, inputs_, 0,
                                             carried_ ? carried_->plain : nullptr);
  plain->beside_gold_ = true;
  return plain;
}

bool Interpreter::take_carried(const std::string& name, const json& given) {
  if (!carried_) return false;
  if (const auto lost = carried_->lost.find(name); lost != carried_->lost.end()) {
    losses_.lose_input(name, lost->second, {});
    return true;
  }
  const auto found = carried_->values.find(name);
  if (found == carried_->values.end()) return false;
  scope_[name] = found->second;
  const bool tracked = given.is_object() && given.value("requires_grad", false);
  if (tracked && found->second.isTensor()) scope_[name].toTensor().set_requires_grad(true);
  if (const auto origin = carried_->origins.find(name); origin != carried_->origins.end())
    origins_[name] = origin->second;
  return true;
}

std::shared_ptr<const Carried> Interpreter::carry(
    const std::vector<std::pair<std::string, std::string>>& names) const {
  if (names.empty()) return nullptr;
  auto carried = std::make_shared<Carried>();
  StorageCopies copies;
  for (const auto& [input, from] : names) {
    if (const std::string reason = lost(from); !reason.empty()) {
      carried->lost[input] = reason;
      continue;
    }
    carried->values[input] = or_unsupported("a value cannot be carried to the next call",
                                            [&] { return copies.of(lookup(scope_, from)); });
    if (const auto from_where = origin(from)) carried->origins[input] = *from_where;
  }
  if (plain_) carried->plain = plain_->carry(names);
  return carried;
}

void Interpreter::run(const std::vector<Step>& steps, const Context& context) {
  if (is_wide(mode_) && asks_plain(steps)) {
    plain_ = plain_eager();
    plain_->run(steps, context);
    writes_ = writes(steps);  // through a view of bits, too, which here is a copy
  }
  block(steps, context);
}

void Interpreter::take(const NamedValues& results) {
  for (const auto& [name, value] : results) scope_[name] = value;
}

void Interpreter::block(const std::vector<Step>& steps, const Context& context) {
  const ContextGuard guard(gold_context(mode_, context));
  for (const Step& entry : steps) step(entry);
}

void Interpreter::step(const Step& step) {
  if (const auto* with = std::get_if<WithBlock>(&step.does)) {
    return block(with->steps, with->context);
  }
  if (const auto* call = std::get_if<ApplyCall>(&step.does)) return apply(step, *call);
  if (is_narrow(mode_)) plain_->step(step);
  std::string reason;
  try {
    const PlainStep* plain = nullptr;
    if (mode_ != kPlain) {
      if (asks_plain(step)) plain = &plain_->notes_.at(next_note_++);
      if (plain != nullptr && writes_ && plain->viewed != c10::ScalarType::Undefined) {
        throw Unsupported("fp64 of a view of bits, where something is written to");
      }
      reason = losses_.reason_for(step, scope_);
    }
    if (reason.empty()) {
      const std::size_t noted = notes_.size();
      last_ = results_of(step, plain);
      bind(step.let, last_);
      if (mode_ == kPlain) note_bits(step, noted);
      if (mode_ != kPlain) losses_.found(step);
      if (mode_ == Gold::mpfr) note_origin(step);
      return;
    }
  } catch (const Unsupported& lacking) {
    if (mode_ == kPlain) throw;
    reason = lacking.what();
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error& error) {
    if (mode_ == kPlain) throw;
    reason = error.what_without_backtrace();
  }
  losses_.lose(step, reason, scope_);
}

void Interpreter::apply(const Step& step, const ApplyCall& call) {
  // How torch lays out what it computes for all rows at once only torch knows.
  if (call.name == "vmap" && mode_ == kPlain && !beside_gold_)
    throw Unsupported("`vmap` is a function of Python; C++ eager has none");
  std::string reason;
  OuterNames names;
  walk(step, names);
  for (const std::string& name : names.used) {
    if (reason.empty()) reason = lost(name);
  }
  if (!reason.empty()) {
    if (plain_ && is_wide(mode_) && asks_plain(std::vector<Step>{step})) throw Unsupported(reason);
    if (is_narrow(mode_)) plain_->step(step);
    return losses_.lose(step, reason, scope_);
  }
  const std::vector<Value> results = Applied(*this, call).results();
  if (step.let.size() != results.size()) return;  // nobody needs them
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (step.let[i]) name(*step.let[i], results[i]);
  }
}

void Interpreter::name(const std::string& to, const Value& value) {
  if (is_narrow(mode_)) plain_->name(to, value);
  const std::string& from = std::get<Ref>(value.is).name;
  if (const std::string reason = lost(from); !reason.empty()) {
    std::vector<IValue> sharing;
    if (const auto known = scope_.find(from); known != scope_.end())
      sharing.push_back(known->second);
    return losses_.lose_input(to, reason, sharing);
  }
  losses_.found(to);
  scope_[to] = lookup(scope_, from);
  if (mode_ == Gold::mpfr) origins_[to] = *origin(from);
  bits_of_.erase(to);
  if (const auto bits = bits_of(from)) bits_of_[to] = *bits;
}

bool Interpreter::decide(const Value& value) {
  const std::string& from = std::get<Ref>(value.is).name;
  if (const std::string reason = lost(from); !reason.empty()) throw Unsupported(reason);
  const IValue& found = lookup(scope_, from);
  const bool yes = found.isTensor() ? found.toTensor().item().toBool() : found.toBool();
  decisions_.push_back(yes);
  if (is_narrow(mode_) && plain_->decide(value) != yes)
    throw Unsupported("it takes another branch than eager");
  if (is_wide(mode_) && plain_->decisions_.at(next_decision_++) != yes)
    throw Unsupported("it takes another branch than eager");
  return yes;
}

void Interpreter::note_bits(const Step& step, std::size_t noted) {
  const bool asked = notes_.size() > noted;
  const c10::ScalarType viewed = asked ? notes_.back().viewed : c10::ScalarType::Undefined;
  for (const auto& name : step.let) {
    if (!name) continue;
    bits_of_.erase(*name);
    if (viewed == c10::ScalarType::Undefined || !c10::isFloatingType(viewed)) continue;
    if (c10::isIntegralType(scope_.at(*name).toTensor().scalar_type(), /*includeBool=*/false))
      bits_of_[*name] = viewed;
  }
}

std::optional<c10::ScalarType> Interpreter::bits_of(const std::string& name) const {
  const auto found = bits_of_.find(name);
  return found == bits_of_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Origin> Interpreter::origin(const std::string& name) const {
  if (mode_ != Gold::mpfr) return std::nullopt;
  const auto known = origins_.find(name);
  return known == origins_.end() ? Origin{"its inputs", 0} : known->second;
}

void Interpreter::note_origin(const Step& step) {
  Origin result = {"its inputs", 0};  // of the operands: the worst
  for (const std::string& name : names_used(step)) {
    const Origin operand = *origin(name);
    if (result.by.empty() || operand.by.empty()) {
      result = {};
    } else if (operand.ulp > result.ulp) {
      result = operand;
    }
  }
  const auto* call = std::get_if<OpCall>(&step.does);
  const bool moves = call != nullptr ? moves_values(find_operator(call->op))
                                     : std::holds_alternative<GetItem>(step.does) ||
                                           std::holds_alternative<LiteralTensor>(step.does);
  if (!moves) {
    const bool once = call != nullptr && !rounded_by_.empty() && result.ulp == 0;
    result = once && !result.by.empty() ? Origin{rounded_by_, 0.5} : Origin{};
  }
  for (const auto& name : step.let) {
    if (name) origins_[*name] = result;
  }
  if (!names_written(step).empty()) {  // and whatever shares memory with what is written
    for (const auto& [name, value] : scope_) origins_[name] = {};
  }
}

std::vector<IValue> Interpreter::results_of(const Step& step, const PlainStep* plain) {
  if (const auto* op = std::get_if<OpCall>(&step.does)) return call(*op, plain);
  if (const auto* function = std::get_if<FunctionCall>(&step.does)) {
    const char* const kind =
        is_operator(*function) ? "an operator of a Python module" : "a public Python function";
    throw Unsupported("`" + function->function +
                      (function->not_lowered.empty()
                           ? std::string("` is ") + kind + "; C++ eager has none"
                           : "` has no operators in its place: " + function->not_lowered));
  }
  if (const auto* literal = std::get_if<LiteralTensor>(&step.does)) {
    return {build(tensors_, json(sources_.literals.at(literal->index)))};
  }
  if (const auto* get = std::get_if<GetItem>(&step.does)) {
    return {get_item(to_ivalue(get->base, scope_), get->index, scope_)};
  }
  if (const auto* set = std::get_if<SetItem>(&step.does)) {
    set_item(to_ivalue(set->base, scope_), set->index, to_ivalue(set->to, scope_), scope_);
    return {};
  }
  if (const auto* scalar = std::get_if<ScalarCall>(&step.does)) {
    std::vector<IValue> operands;
    for (const Value& operand : scalar->operands) operands.push_back(to_ivalue(operand, scope_));
    return {scalar_step(scalar->name, operands)};
  }
  std::vector<IValue> results;
  for (const at::Tensor& tensor : grad_step(std::get<GradCall>(step.does), scope_)) {
    results.push_back(tensor);
  }
  return results;
}

std::vector<IValue> Interpreter::call(const OpCall& call, const PlainStep* plain) {
  const c10::OperatorHandle op = find_operator(call.op);
  torch::jit::Stack stack = bind_arguments(op.schema(), call.arguments, scope_);
  if (mode_ == kPlain) {
    uses_.begin(op, stack);
    std::vector<IValue> results =
        asks_plain(op) ? call_plain(op, std::move(stack), sources_.device, notes_.emplace_back())
                       : call_operator(op, std::move(stack));
    uses_.done();
    return results;
  }
  switch (*mode_) {
    case Gold::fp64:
    case Gold::perturbed:
      return call_fp64(op, std::move(stack), plain, mode_);
    case Gold::mpfr: {
      std::vector<IValue> results = call_fp64(op, stack, plain, mode_);
      const bool corrected = plain == nullptr && make_correct(op, stack, results);
      rounded_by_ = corrected ? correct_by() : is_correct_by_ieee(op, stack) ? "IEEE 754" : "";
      return results;
    }
    case Gold::stepwise:
    case Gold::fp64_noise:
    case Gold::stepwise_noise:
      return call_stepwise(op, std::move(stack), plain_->last_, plain, noise_ ? &*noise_ : nullptr);
  }
  throw Malformed("no such mode");
}

void Interpreter::bind(const std::vector<std::optional<std::string>>& names,
                       std::vector<IValue> results) {
  if (names.empty()) return;
  if (names.size() == 1 && results.size() != 1) {
    results = {c10::ivalue::Tuple::create(std::move(results))};
  } else if (names.size() > 1 && results.size() == 1) {
    const IValue packed = results[0];
    TORCH_CHECK_TYPE(packed.isList() || packed.isTuple(), "cannot unpack ", packed.tagKind());
    results = packed.isTuple() ? packed.toTupleRef().elements().vec() : packed.toList().vec();
  }
  TORCH_CHECK_VALUE(results.size() == names.size(), "expected ", names.size(),
                    " values to unpack, got ", results.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i]) scope_[*names[i]] = results[i];
  }
}

}  // namespace lockstep::eager
