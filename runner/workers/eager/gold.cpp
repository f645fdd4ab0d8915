#include "workers/eager/gold.h"

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones_like.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <unordered_set>

#include "program/higher_order.h"
#include "workers/eager/context.h"
#include "workers/eager/errors.h"
#include "workers/eager/names.h"
#include "workers/eager/operators.h"
#include "workers/eager/rounding.h"
#include "workers/eager/state.h"
#include "workers/eager/tensors.h"

namespace lockstep::eager {
namespace {

using c10::IValue;
using Stack = torch::jit::Stack;
using TensorMap = std::function<at::Tensor(const at::Tensor&)>;

bool is_float(const at::Tensor& tensor) {
  return c10::isFloatingType(tensor.scalar_type()) || c10::isComplexType(tensor.scalar_type());
}

bool takes_dtype(const c10::Argument& argument) {
  return bare_type(argument)->kind() == c10::TypeKind::ScalarTypeType;
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

/// The dtype of a gold's operands: float64, or the float32 in which kernels of 16 bits compute.
c10::ScalarType wide_dtype(const at::Tensor& tensor, bool in_opmath) {
  if (tensor.is_quantized()) throw Unsupported("a quantized tensor cannot be widened");
  const c10::ScalarType own = tensor.scalar_type();
  return in_opmath && is_float(tensor) && at::toOpMathType(own) != own ? at::toOpMathType(own)
                                                                       : widest(own);
}

at::Tensor widen(const at::Tensor& tensor) {
  return tensor.to(wide_dtype(tensor, /*in_opmath=*/false));
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

using Rounding = std::function<at::Tensor(const at::Tensor& wide, c10::ScalarType to)>;

/// Whether the operator's kernels write each partial sum to the result, and so round it.
bool writes_partial_sums(const c10::OperatorHandle& op) {
  static const std::set<std::string_view> names = {"index_add", "index_put",   "index_reduce",
                                                   "put",       "scatter_add", "scatter_reduce"};
  return names.contains(base_name(op));
}

/// What a wide execution wrote into an argument, rounded into the argument itself.
void write_back(const IValue& narrow, const IValue& wide, const Rounding& round) {
  std::vector<at::Tensor> targets;
  each_tensor(narrow, [&](const at::Tensor& tensor) { targets.push_back(tensor); });
  std::size_t next = 0;
  each_tensor(wide, [&](const at::Tensor& tensor) {
    const at::Tensor& target = targets[next++];
    if (target.is_same(tensor)) return;
    if (target.sizes() != tensor.sizes()) target.resize_(tensor.sizes());
    target.copy_(round(tensor, target.scalar_type()));
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

IValue round_like(const IValue& wide, const IValue& plain, const Rounding& round) {
  if (!plain.isTensor() && !plain.isList()) return wide;
  std::vector<c10::ScalarType> dtypes;
  each_tensor(plain, [&](const at::Tensor& tensor) { dtypes.push_back(tensor.scalar_type()); });
  std::size_t next = 0;
  return map_tensors(wide, [&](const at::Tensor& tensor) {
    return next < dtypes.size() ? round(tensor, dtypes[next++]) : tensor;
  });
}

/// Whether every number of a result is, but for its sign, one of the operands': whatever selects,
/// moves and compares rounds nothing.
bool selects(const at::Tensor& result, const Stack& operands) {
  std::unordered_set<double> known;
  for (const IValue& value : operands) {
    each_tensor(value, [&](const at::Tensor& tensor) {
      if (is_float(tensor)) each_number(tensor, [&](double x) { known.insert(std::fabs(x)); });
    });
  }
  bool all = true;
  each_number(result,
              [&](double x) { all = all && (std::isnan(x) || known.contains(std::fabs(x))); });
  return all;
}

/// Whether eager's dtypes hold the results, so that no implementation has anything to round.
bool are_exact(const std::vector<IValue>& results, const std::vector<IValue>& plain,
               const Stack& operands) {
  bool exact = true;
  for (std::size_t i = 0; i < std::min(results.size(), plain.size()); ++i) {
    round_like(results[i], plain[i], [&](const at::Tensor& wide, c10::ScalarType to) {
      exact = exact && (holds_exactly(to, wide) ||
                        (c10::toRealValueType(to) == at::kDouble && selects(wide, operands)));
      return wide;
    });
  }
  return exact;
}

/// The state of every generator that an operator on the device may draw from.
std::vector<at::Tensor> generator_states(c10::Device device) {
  std::vector<at::Tensor> states = {generator_state(c10::kCPU)};
  if (device != c10::kCPU) states.push_back(generator_state(device));
  return states;
}

void set_generator_states(c10::Device device, const std::vector<at::Tensor>& states) {
  set_generator_state(c10::kCPU, states[0]);
  if (device != c10::kCPU) set_generator_state(device, states[1]);
}

bool is_bit_view(const c10::OperatorHandle& op) {
  return op.schema().name() == "aten::view" && op.schema().overload_name() == "dtype";
}

/// Whether the operator casts its first argument and does nothing else.
bool is_cast(const c10::OperatorHandle& op) {
  const std::string& name = op.schema().name();
  return name == "aten::to" || name == "aten::_to_copy" || name == "aten::type_as";
}

/// The result of a cast from floats to integers, with one number wherever C++ defines none: of NaN
/// and of what is out of range once it is cut to an integer.
at::Tensor mark_undefined(const at::Tensor& floats, const at::Tensor& integers, double number) {
  const c10::ScalarType type = integers.scalar_type();
  if (!floats.is_floating_point() || !c10::isIntegralType(type, /*includeBool=*/false)) {
    return integers;
  }
  const bool is_signed = c10::isSignedType(type);
  const int bits = static_cast<int>(8 * c10::elementSize(type)) - (is_signed ? 1 : 0);
  const at::Tensor cut = floats.detach().trunc();
  const at::Tensor defined =
      cut.ge(is_signed ? -std::ldexp(1.0, bits) : 0.0).logical_and(cut.lt(std::ldexp(1.0, bits)));
  return integers.masked_fill(defined.logical_not(), number);
}

/// A cast in a sample: what C++ does not define is another number than in the fp64 gold.
std::vector<IValue> cast_with_noise(const c10::OperatorHandle& op, Stack stack, Noise& noise) {
  const at::Tensor operand = stack[0].toTensor();
  std::vector<IValue> results = call_operator(op, std::move(stack));
  const at::Tensor result = results[0].toTensor();
  if (result.scalar_type() == operand.scalar_type()) return results;
  if (is_float(operand) && is_float(result)) return {noise.cast(operand, result.scalar_type())};
  return {mark_undefined(operand, result, 1)};
}

/// The operands that a kernel gets under autocast: of an operator that autocast knows, and whose
/// result eager has in autocast's dtype, those that it casts to that. Unsupported where it casts
/// inside of an operator, since nobody sees which operands.
Stack operands_under_autocast(const c10::OperatorHandle& op, const Stack& stack,
                              const std::vector<IValue>& plain, Noise* noise) {
  if (plain.empty() || !plain[0].isTensor() || !plain[0].toTensor().defined() || is_cast(op))
    return stack;
  const c10::DeviceType device = plain[0].toTensor().device().type();
  if (!at::autocast::is_autocast_available(device) || !at::autocast::is_autocast_enabled(device))
    return stack;
  const c10::ScalarType to = at::autocast::get_autocast_dtype(device);
  const auto is_cast_by_it = [&](const at::Tensor& tensor) {
    return at::autocast::is_eligible(tensor, device) && tensor.scalar_type() != to;
  };
  if (plain[0].toTensor().scalar_type() != to || !any_tensor(stack, is_cast_by_it)) return stack;
  if (!op.hasKernelForDispatchKey(at::autocast::get_autocast_dispatch_key_from_device_type(device)))
    throw Unsupported("autocast casts inside of " + toString(op.operator_name()));
  Stack operands;
  for (const IValue& value : stack) {
    operands.push_back(map_tensors(value, [&](const at::Tensor& tensor) {
      if (!is_cast_by_it(tensor)) return tensor;
      return noise == nullptr ? tensor.to(to) : noise->cast(tensor, to);
    }));
  }
  return operands;
}

bool is_dropout(const c10::OperatorHandle& op) {
  const std::string& name = op.schema().name();
  return name == "aten::dropout" || name == "aten::dropout_" || name == "aten::native_dropout";
}

/// What a dropout that drew multiplied its operand by: its result for ones, drawn once more.
at::Tensor factor_of_dropout(const c10::OperatorHandle& op, Stack stack, const PlainStep& draw) {
  const c10::AutoGradMode without_gradients(false);
  const c10::Device device = draw.ones.device();
  const std::vector<at::Tensor> now = generator_states(device);
  stack[0] = draw.ones.clone();
  set_generator_states(device, draw.generators);
  at::Tensor factor = call_operator(op, std::move(stack))[0].toTensor();
  set_generator_states(device, now);
  return factor;
}

using Product = std::function<at::Tensor(const at::Tensor& operand, const at::Tensor& factor)>;

/// The results of a random operator that drew, in the gold: those of plain eager, changed by
/// `change`, where they do not hang on the values of tensors; of dropout the product of its operand
/// and what plain eager multiplied that by.
std::vector<IValue> drawn(const char* gold, const c10::OperatorHandle& op, const Stack& stack,
                          const PlainStep& draw, const TensorMap& change, const Product& product) {
  if (draw.ones.defined()) {
    const at::Tensor factor = factor_of_dropout(op, stack, draw);
    const at::Tensor result = product(stack[0].toTensor(), factor);
    if (op.schema().name() == "aten::dropout_") return {stack[0].toTensor().copy_(result)};
    if (op.schema().name() == "aten::dropout") return {result};
    return {result, factor.ne(0)};
  }
  static const std::set<std::string> of_shapes = {"aten::rand_like", "aten::randn_like",
                                                  "aten::randint_like"};
  static const std::set<std::string> fills = {
      "aten::uniform_",   "aten::normal_",     "aten::random_", "aten::exponential_",
      "aten::geometric_", "aten::log_normal_", "aten::cauchy_"};
  const std::string& name = op.schema().name();
  if (fills.contains(name)) {
    stack[0].toTensor().copy_(draw.results[0].toTensor());
    return {stack[0]};
  }
  if (any_tensor(stack, [](const at::Tensor&) { return true; }) && !of_shapes.contains(name)) {
    throw Unsupported(std::string(gold) + " of " + toString(op.operator_name()) +
                      ": it would draw other numbers");
  }
  std::vector<IValue> results;
  for (const IValue& result : draw.results) results.push_back(map_tensors(result, change));
  return results;
}

}  // namespace

bool asks_plain(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::nondeterministic_seeded) || is_bit_view(op);
}

bool asks_plain(const Step& step) {
  const auto* call = std::get_if<OpCall>(&step.does);
  return call != nullptr && asks_plain(find_operator(call->op));
}

bool asks_plain(const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    if (const auto* block = std::get_if<WithBlock>(&step.does)) return asks_plain(block->steps);
    const auto* apply = std::get_if<ApplyCall>(&step.does);
    if (apply == nullptr) return asks_plain(step);
    return decides(*apply) ||
           std::any_of(apply->programs.begin(), apply->programs.end(),
                       [](const SubProgram& each) { return asks_plain(each.steps); });
  });
}

std::vector<IValue> call_plain(const c10::OperatorHandle& op, Stack stack, c10::Device device,
                               PlainStep& plain) {
  if (is_bit_view(op)) {
    plain.viewed = stack[0].toTensor().scalar_type();
    return call_operator(op, std::move(stack));
  }
  const std::vector<at::Tensor> before = generator_states(device);
  const at::Tensor operand = is_dropout(op) ? stack[0].toTensor() : at::Tensor();
  std::vector<IValue> results = call_operator(op, std::move(stack));
  const std::vector<at::Tensor> after = generator_states(device);
  for (std::size_t i = 0; i < before.size(); ++i) plain.drew |= !before[i].equal(after[i]);
  if (plain.drew && operand.defined()) {
    plain.ones = at::ones_like(operand.detach());
    plain.generators = before;
  } else if (plain.drew) {
    const auto copy = [](const at::Tensor& tensor) { return tensor.detach().clone(); };
    for (const IValue& result : results) plain.results.push_back(map_tensors(result, copy));
  }
  return results;
}

bool is_written(const c10::Argument& argument) {
  if (argument.name() == "running_mean" || argument.name() == "running_var") return true;
  return argument.alias_info() && argument.alias_info()->isWrite();
}

Mode parse_mode(const std::string& name) {
  if (name == kPlainMode) return kPlain;
  if (const Mode gold = find_gold(name)) return gold;
  throw Unsupported("mode " + name);
}

std::vector<IValue> call_fp64(const c10::OperatorHandle& op, Stack stack, const PlainStep* plain,
                              Mode mode) {
  return call_gold("fp64", op, [&]() -> std::vector<IValue> {
    if (plain != nullptr && plain->drew) {
      return drawn("fp64", op, stack, *plain, widen,
                   [&](const at::Tensor& x, const at::Tensor& by) {
                     const double kept = 1 - stack[1].toDouble();
                     return by.ne(0).to(x.scalar_type()) * x / (kept > 0 ? kept : 1);
                   });
    }
    if (is_bit_view(op)) {
      const at::Tensor narrow = stack[0].toTensor().to(plain->viewed);
      return {widen(call_operator(op, {narrow, stack[1]})[0].toTensor())};
    }
    const auto as_it_is = [](const at::Tensor& tensor) { return tensor; };
    const Stack wide = wide_stack(op.schema(), stack, as_it_is);
    std::vector<IValue> results = call_operator(op, wide);
    if (results.size() == 1 && results[0].isTensor() && wide[0].isTensor() && is_cast(op)) {
      const double undefined = mode == Gold::perturbed ? 1 : 0;
      results[0] = mark_undefined(wide[0].toTensor(), results[0].toTensor(), undefined);
    }
    return results;
  });
}

std::vector<IValue> call_stepwise(const c10::OperatorHandle& op, Stack stack,
                                  const std::vector<IValue>& plain, const PlainStep* step,
                                  Noise* noise) {
  const c10::FunctionSchema& schema = op.schema();
  if (noise != nullptr && is_cast(op)) return cast_with_noise(op, std::move(stack), *noise);
  if (computes_nothing(op) || is_of_its_dtype(op)) return call_operator(op, std::move(stack));
  bool exact = noise == nullptr;
  const Rounding round = [&](const at::Tensor& wide, c10::ScalarType to) {
    const at::Tensor narrow = exact ? wide.to(to) : noise->round(wide, to);
    // A backward of exp or softmax computes with the result that eager has rounded.
    if (wide.requires_grad() && narrow.scalar_type() != wide.scalar_type())
      wide.variable_data().copy_(narrow.detach());
    return narrow;
  };
  const auto widen_operand = [&](const at::Tensor& tensor) {
    const c10::ScalarType to = wide_dtype(tensor, computes_in_opmath(op));
    return noise == nullptr ? tensor.to(to) : noise->widen(tensor, to);
  };
  if (step != nullptr && step->drew) {
    const auto product = [&](const at::Tensor& x, const at::Tensor& factor) {
      return round(widen_operand(x) * widen(factor), x.scalar_type());
    };
    return drawn(
        "stepwise", op, stack, *step, [](const at::Tensor& t) { return t.clone(); }, product);
  }
  const auto call_wide = [&](const Stack& wide) {
    Context wide_factories;
    wide_factories.default_dtype = "float64";
    const ContextGuard guard(wide_factories);
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    return call_operator(op, wide);
  };
  return call_gold("stepwise", op, [&] {
    const Stack operands = operands_of_kernel(op, operands_under_autocast(op, stack, plain, noise));
    Stack wide = wide_stack(schema, operands, widen_operand);
    std::vector<IValue> results = call_wide(wide);
    const auto& arguments = schema.arguments();
    const bool writes = std::any_of(arguments.begin(), arguments.end(), is_written);
    const bool rounds_sums = writes_partial_sums(op);
    exact = exact || (!rounds_sums && are_exact(results, plain, wide));
    if (!exact && !writes && !op.hasTag(at::Tag::pointwise)) {
      wide = wide_stack(schema, operands, [&](const at::Tensor& tensor) {
        const c10::ScalarType own = tensor.scalar_type();
        if (!is_float(tensor)) return widen_operand(tensor);
        return noise->move(widen_operand(tensor), rounds_sums ? own : at::toOpMathType(own));
      });
      results = call_wide(wide);
    }
    for (std::size_t i = 0; i < stack.size(); ++i) {
      if (is_written(schema.arguments()[i])) write_back(stack[i], wide[i], round);
    }
    std::vector<IValue> rounded;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto argument = aliased_argument(schema, i);
      rounded.push_back(argument ? stack[*argument] : round_like(results[i], plain.at(i), round));
    }
    return rounded;
  });
}

Context gold_context(Mode mode, Context context) {
  if (is_wide(mode)) {
    context.autocast.reset();
    context.default_dtype = "float64";
  }
  return context;
}

}  // namespace lockstep::eager
