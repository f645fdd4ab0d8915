#include "workers/eager/program.h"

#include <ATen/core/Tensor.h>
#include <c10/core/DefaultDtype.h>

#include "workers/eager/autograd.h"
#include "workers/eager/context.h"
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

Interpreter::Interpreter(const Sources& sources, Mode mode, const json& inputs)
    : mode_(mode),
      literals_(sources.literals),
      tensors_(sources.files, sources.device, is_wide(mode) ? Width::widest : Width::as_given),
      narrow_default_(c10::get_default_dtype_as_scalartype()) {
  for (const auto& [name, value] : inputs.items()) {
    const bool is_view = value.is_object() && value.contains("storage");
    if (is_view && mode == Mode::perturbed) {
      tensors_.perturb(value.at("storage").get<std::size_t>());
    }
    scope_[name] = is_view ? build(tensors_, value) : to_ivalue(parse_value(value), {});
  }
  if (mode == Mode::stepwise) {
    plain_ = std::make_unique<Interpreter>(sources, Mode::plain, inputs);
  }
}

void Interpreter::run(const std::vector<Step>& steps, const Context& context) {
  const ContextGuard guard(gold_context(mode_, context));
  const c10::ScalarType outer_default = narrow_default_;
  if (context.default_dtype) narrow_default_ = parse_dtype(*context.default_dtype);
  Context widened;
  if (is_wide(mode_)) widened.default_dtype = "float64";
  const ContextGuard wide(widened);
  for (const Step& entry : steps) step(entry);
  narrow_default_ = outer_default;
}

void Interpreter::step(const Step& step) {
  if (const auto* block = std::get_if<WithBlock>(&step.does)) {
    return run(block->steps, block->context);
  }
  if (plain_) plain_->step(step);
  last_ = results_of(step);
  bind(step.let, last_);
}

std::vector<IValue> Interpreter::results_of(const Step& step) {
  if (const auto* op = std::get_if<OpCall>(&step.does)) return call(*op);
  if (const auto* function = std::get_if<FunctionCall>(&step.does)) {
    throw Unsupported("`" + function->function +
                      "` is a public Python function; C++ eager has none");
  }
  if (const auto* literal = std::get_if<LiteralTensor>(&step.does)) {
    return {build(tensors_, json(literals_.at(literal->index)))};
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

std::vector<IValue> Interpreter::call(const OpCall& call) {
  const c10::OperatorHandle op = find_operator(call.op);
  torch::jit::Stack stack = bind_arguments(op.schema(), call.arguments, scope_);
  switch (mode_) {
    case Mode::plain:
      return call_operator(op, std::move(stack));
    case Mode::fp64:
    case Mode::perturbed:
      return call_fp64(op, std::move(stack), narrow_default_);
    case Mode::stepwise:
      return call_stepwise(op, std::move(stack), plain_->last_);
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
