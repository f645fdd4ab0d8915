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
      tensors_(sources.files, sources.device, is_wide(mode) ? Width::widest : Width::as_given),
      narrow_default_(c10::get_default_dtype_as_scalartype()) {
  for (const auto& [name, value] : inputs.items()) {
    const bool is_view = value.is_object() && value.contains("storage");
    if (is_view && mode == Mode::perturbed) {
      tensors_.perturb(value.at("storage").get<std::size_t>());
    }
    scope_[name] = is_view ? build(tensors_, value) : to_ivalue(value, {});
  }
  if (mode == Mode::stepwise) {
    plain_ = std::make_unique<Interpreter>(sources, Mode::plain, inputs);
  }
}

void Interpreter::run(const json& steps, const json& context) {
  const ContextGuard guard(gold_context(mode_, context));
  const c10::ScalarType outer_default = narrow_default_;
  if (context.is_object() && context.value("default_dtype", json()).is_string()) {
    narrow_default_ = parse_dtype(context["default_dtype"].get<std::string>());
  }
  json widened;
  if (is_wide(mode_)) widened["default_dtype"] = "float64";
  const ContextGuard wide(widened);
  for (const json& entry : steps) step(entry);
  narrow_default_ = outer_default;
}

void Interpreter::step(const json& step) {
  if (step.contains("with")) return run(step.at("steps"), step["with"]);
  if (plain_) plain_->step(step);
  last_ = results_of(step);
  bind(step.value("let", json::array()), last_);
}

std::vector<IValue> Interpreter::results_of(const json& step) {
  if (step.contains("op")) return call(step);
  if (step.contains("call")) {
    throw Unsupported("`" + step["call"].get<std::string>() +
                      "` is a public Python function; C++ eager has none");
  }
  if (step.contains("tensor")) return {build(tensors_, step["tensor"])};
  if (step.contains("get")) {
    return {get_item(to_ivalue(step["get"], scope_), step.at("index"), scope_)};
  }
  if (step.contains("set")) {
    set_item(to_ivalue(step["set"], scope_), step.at("index"), to_ivalue(step.at("to"), scope_),
             scope_);
    return {};
  }
  if (step.contains("scalar")) {
    std::vector<IValue> operands;
    const json& expression = step["scalar"];
    for (std::size_t i = 1; i < expression.size(); ++i) {
      operands.push_back(to_ivalue(expression[i], scope_));
    }
    return {scalar_step(expression.at(0).get<std::string>(), operands)};
  }
  if (step.contains("grad")) {
    std::vector<IValue> results;
    for (const at::Tensor& tensor : grad_step(step["grad"], scope_)) results.push_back(tensor);
    return results;
  }
  throw Malformed("not a step: " + step.dump());
}

std::vector<IValue> Interpreter::call(const json& step) {
  const c10::OperatorHandle op = find_operator(step["op"].get<std::string>());
  torch::jit::Stack stack = bind_arguments(op.schema(), step.value("args", json::array()),
                                           step.value("kwargs", json::object()), scope_);
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

void Interpreter::bind(const json& names, std::vector<IValue> results) {
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
    if (names[i].is_string()) scope_[names[i].get<std::string>()] = results[i];
  }
}

}  // namespace lockstep::eager
