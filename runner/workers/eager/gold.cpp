#include "workers/eager/gold.h"

#include <ATen/OpMathType.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DefaultDtype.h>

#include <functional>

#include "workers/eager/context.h"
#include "workers/eager/errors.h"
#include "workers/eager/names.h"
#include "workers/eager/operators.h"
#include "workers/eager/rounding.h"
#include "workers/eager/tensors.h"

namespace lockstep::eager {
namespace {

using c10::IValue;
using Stack = torch::jit::Stack;
using TensorMap = std::function<at::Tensor(const at::Tensor&)>;

bool is_narrow(const at::Tensor& tensor) {
  return tensor.defined() && widest(tensor.scalar_type()) != tensor.scalar_type();
}

bool is_float(const at::Tensor& tensor) {
  return c10::isFloatingType(tensor.scalar_type()) || c10::isComplexType(tensor.scalar_type());
}

/// A context in which factories and true division of ints give this dtype.
Context default_dtype(c10::ScalarType type) {
  Context context;
  context.default_dtype = dtype_name(type);
  return context;
}

bool takes_dtype(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type->kind() == c10::TypeKind::ScalarTypeType;
}

/// The value with `change` applied to its tensors, also inside lists.
IValue map_tensors(const IValue& value, const TensorMap& change) {
  if (value.isTensor()) return value.toTensor().defined() ? change(value.toTensor()) : value;
  if (!value.isList()) return value;
  const auto list = value.toList();
  c10::impl::GenericList mapped(list.elementType());
  for (const IValue& item : list.vec()) mapped.push_back(map_tensors(item, change));
  return mapped;
}

void each_tensor(const IValue& value, const std::function<void(const at::Tensor&)>& visit) {
  map_tensors(value, [&](const at::Tensor& tensor) {
    visit(tensor);
    return tensor;
  });
}

at::Tensor widen(const at::Tensor& tensor) {
  if (tensor.is_quantized()) throw Unsupported("a quantized tensor cannot be widened");
  return is_narrow(tensor) ? tensor.to(widest(tensor.scalar_type())) : tensor;
}

/// 16-bit floats as the float32 in which their kernels compute.
at::Tensor widen_to_opmath(const at::Tensor& tensor) {
  const c10::ScalarType own = tensor.scalar_type();
  return is_float(tensor) && at::toOpMathType(own) != own ? tensor.to(at::toOpMathType(own))
                                                          : widen(tensor);
}

/// The stack for a wide execution: tensors changed by `change`, dtype arguments widened.
Stack wide_stack(const c10::FunctionSchema& schema, const Stack& stack, const TensorMap& change) {
  Stack wide;
  wide.reserve(stack.size());
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (takes_dtype(schema.arguments()[i]) && stack[i].isInt()) {
      const auto type = static_cast<c10::ScalarType>(stack[i].toInt());
      wide.emplace_back(static_cast<std::int64_t>(widest(type)));
    } else {
      wide.push_back(map_tensors(stack[i], change));
    }
  }
  return wide;
}

bool any_tensor(const Stack& stack, const std::function<bool(const at::Tensor&)>& test) {
  bool found = false;
  for (const IValue& value : stack) {
    each_tensor(value, [&](const at::Tensor& tensor) { found = found || test(tensor); });
  }
  return found;
}

bool is_random(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::nondeterministic_seeded);
}

/// An error of a gold says nothing about the program: plain eager accepted it.
template <class Call>
auto call_gold(const char* gold, const c10::OperatorHandle& op, Call call) {
  return or_unsupported(std::string(gold) + " of " + toString(op.operator_name()), call);
}

/// Whether the operator moves or marks tensors and computes nothing: views, and those in-place
/// operators that change a tensor's geometry or its place in the graph.
bool computes_nothing(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  if (op.hasTag(at::Tag::inplace_view)) return true;
  if (schema.name() == "aten::requires_grad_" || schema.name() == "aten::retain_grad") return true;
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.alias_info() && !argument.alias_info()->isWrite()) return true;
  }
  return false;
}

/// Whether the operator writes into the argument.  Batch and instance norm update their running
/// statistics, and most of their schemas do not say so.
bool is_written(const c10::Argument& argument) {
  if (argument.name() == "running_mean" || argument.name() == "running_var") return true;
  return argument.alias_info() && argument.alias_info()->isWrite();
}

/// What a wide execution wrote into an argument, rounded into the argument itself.
void write_back(const IValue& narrow, const IValue& wide) {
  std::vector<at::Tensor> targets;
  each_tensor(narrow, [&](const at::Tensor& tensor) { targets.push_back(tensor); });
  std::size_t next = 0;
  each_tensor(wide, [&](const at::Tensor& tensor) {
    const at::Tensor& target = targets[next++];
    if (target.is_same(tensor)) return;
    if (target.sizes() != tensor.sizes()) target.resize_(tensor.sizes());
    target.copy_(tensor);
  });
}

/// The argument that a result is by the schema, such as `self` of an in-place operator.
std::optional<std::size_t> aliased_argument(const c10::FunctionSchema& schema, std::size_t result) {
  const c10::AliasInfo* alias = schema.returns()[result].alias_info();
  if (!alias) return std::nullopt;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* argument = schema.arguments()[i].alias_info();
    if (argument && argument->beforeSets() == alias->beforeSets()) return i;
  }
  return std::nullopt;
}

IValue round_like(const IValue& wide, const IValue& plain) {
  if (!plain.isTensor() && !plain.isList()) return wide;
  std::vector<c10::ScalarType> dtypes;
  each_tensor(plain, [&](const at::Tensor& tensor) { dtypes.push_back(tensor.scalar_type()); });
  std::size_t next = 0;
  return map_tensors(wide, [&](const at::Tensor& tensor) {
    return next < dtypes.size() ? tensor.to(dtypes[next++]) : tensor;
  });
}

}  // namespace

Mode parse_mode(const std::string& name) {
  if (name == "plain") return Mode::plain;
  if (name == "fp64") return Mode::fp64;
  if (name == "perturbed") return Mode::perturbed;
  if (name == "stepwise") return Mode::stepwise;
  throw Unsupported("mode " + name);
}

std::vector<IValue> call_fp64(const c10::OperatorHandle& op, Stack stack,
                              c10::ScalarType narrow_default) {
  const c10::FunctionSchema& schema = op.schema();
  if (schema.name() == "aten::view" && schema.overload_name() == "dtype") {
    throw Unsupported("fp64 of a reinterpretation of bits");
  }
  if (is_random(op)) {
    if (any_tensor(stack, is_float)) {
      throw Unsupported("fp64 of " + toString(op.operator_name()) +
                        ": it would draw other numbers");
    }
    return call_gold("fp64", op, [&] {
      const ContextGuard narrow(default_dtype(narrow_default));
      std::vector<IValue> results = call_operator(op, std::move(stack));
      for (IValue& result : results) result = map_tensors(result, widen);
      return results;
    });
  }
  const auto as_it_is = [](const at::Tensor& tensor) { return tensor; };
  return call_gold("fp64", op,
                   [&] { return call_operator(op, wide_stack(schema, stack, as_it_is)); });
}

std::vector<IValue> call_stepwise(const c10::OperatorHandle& op, Stack stack,
                                  const std::vector<IValue>& plain) {
  const c10::FunctionSchema& schema = op.schema();
  if (computes_nothing(op) || is_of_its_dtype(op)) return call_operator(op, std::move(stack));
  if (is_random(op)) {
    if (any_tensor(stack, [](const at::Tensor&) { return true; })) {
      throw Unsupported("stepwise of " + toString(op.operator_name()) +
                        ": it would draw other numbers");
    }
    std::vector<IValue> results;
    for (const IValue& result : plain) {
      results.push_back(map_tensors(result, [](const at::Tensor& t) { return t.clone(); }));
    }
    return results;
  }
  return call_gold("stepwise", op, [&] {
    const Stack wide = wide_stack(schema, operands_of_kernel(op, stack),
                                  computes_in_opmath(op) ? widen_to_opmath : widen);
    std::vector<IValue> results;
    {
      const ContextGuard guard(default_dtype(c10::kDouble));
      results = call_operator(op, wide);
    }
    for (std::size_t i = 0; i < stack.size(); ++i) {
      if (is_written(schema.arguments()[i])) write_back(stack[i], wide[i]);
    }
    std::vector<IValue> rounded;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto argument = aliased_argument(schema, i);
      rounded.push_back(argument ? stack[*argument] : round_like(results[i], plain.at(i)));
    }
    return rounded;
  });
}

Context gold_context(Mode mode, Context context) {
  if (mode == Mode::stepwise && context.autocast) throw Unsupported("stepwise under autocast");
  if (is_wide(mode)) {
    context.autocast.reset();
    context.default_dtype.reset();
  }
  return context;
}

}  // namespace lockstep::eager
