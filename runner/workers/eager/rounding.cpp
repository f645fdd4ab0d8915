#include "workers/eager/rounding.h"

#include <ATen/OpMathType.h>
#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>

#include <torch/version.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "workers/eager/operators.h"

namespace lockstep::eager {
namespace {

using c10::IValue;
using c10::ScalarType;
using torch::jit::Stack;

constexpr std::size_t kAny = SIZE_MAX;

/// Numbers that are not brought to the common dtype, by the base name of the operator.
struct KeptNumber {
  std::string_view name;
  std::size_t argument;  ///< which one; kAny: each
  NumberPrecision cpu;
  NumberPrecision cuda;
};

// TensorIterator casts its operands to the common dtype, numbers among them; that is the rule.
// What is no operand but a parameter of the kernel (slopes, thresholds, weights) is converted
// to opmath.  In mul and div the CPU's kernels for 16 bits read a second operand of one element
// before it is cast (`original_scalar_value`); CUDA's do so for either operand, and for sums.
constexpr auto kGiven = NumberPrecision::given;
constexpr auto kOpmath = NumberPrecision::opmath;
constexpr auto kDtype = NumberPrecision::dtype;
// 2.15 converts the threshold to the dtype, 2.13 did not.
constexpr auto kShrinks = TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 15 ? kDtype : kOpmath;
constexpr std::array kKept = std::to_array<KeptNumber>({
    {"add", kAny, kDtype, kOpmath},
    {"sub", kAny, kDtype, kOpmath},
    {"rsub", kAny, kDtype, kOpmath},
    {"mul", 0, kDtype, kOpmath},
    {"mul", 1, kOpmath, kOpmath},
    {"multiply", 1, kOpmath, kOpmath},
    {"div", 0, kDtype, kOpmath},
    {"div", 1, kOpmath, kOpmath},
    {"divide", 1, kOpmath, kOpmath},
    {"true_divide", 1, kOpmath, kOpmath},
    {"floor_divide", 1, kOpmath, kOpmath},
    {"addcdiv", kAny, kOpmath, kOpmath},
    {"addcmul", kAny, kOpmath, kOpmath},
    {"celu", kAny, kOpmath, kOpmath},
    {"elu", kAny, kOpmath, kOpmath},
    {"elu_backward", kAny, kOpmath, kOpmath},
    {"float_power", kAny, kGiven, kGiven},
    {"leaky_relu", kAny, kOpmath, kOpmath},
    {"leaky_relu_backward", kAny, kOpmath, kOpmath},
    {"lerp", kAny, kOpmath, kOpmath},
    {"native_dropout_backward", kAny, kOpmath, kOpmath},
    {"softplus", kAny, kOpmath, kOpmath},
    {"softplus_backward", kAny, kOpmath, kOpmath},
    {"softshrink", kAny, kShrinks, kShrinks},
    {"softshrink_backward", kAny, kShrinks, kShrinks},
    {"threshold", kAny, kOpmath, kOpmath},
    {"threshold_backward", kAny, kOpmath, kOpmath},
});

bool is_one_of(const c10::OperatorHandle& op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), base_name(op)) != names.end();
}

bool takes_number(const c10::Argument& argument) {
  const c10::TypeKind kind = bare_type(argument)->kind();
  return kind == c10::TypeKind::NumberType || kind == c10::TypeKind::FloatType;
}

/// The dtype to which TensorIterator brings the operands.
ScalarType common_dtype(const c10::FunctionSchema& schema, const Stack& stack) {
  at::native::ResultTypeState state;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (argument.is_out()) continue;
    if (stack[i].isTensor() && stack[i].toTensor().defined()) {
      state = at::native::update_result_type_state(stack[i].toTensor(), state);
    } else if (stack[i].isScalar() && argument.real_type()->kind() == c10::TypeKind::NumberType) {
      state = at::native::update_result_type_state(stack[i].toScalar(), state);
    }
  }
  return at::native::result_type(state);
}

IValue rounded_number(const at::Scalar& number, ScalarType type) {
  if (number.isBoolean()) return number;
  if (!number.isComplex()) type = c10::toRealValueType(type);
  return c10::scalar_to_tensor(number).to(type).item();
}

/// A tensor beside others of the common dtype, rounded to it.  One of Python's numbers stays
/// wrapped in float64, so that it takes no part in promotion.
at::Tensor rounded_operand(const at::Tensor& tensor, ScalarType type) {
  const bool lossless = tensor.scalar_type() == type || tensor.scalar_type() == at::kBool;
  if (lossless || tensor.is_quantized() || (tensor.is_complex() && !c10::isComplexType(type))) {
    return tensor;
  }
  const ScalarType own = tensor.is_complex() ? type : c10::toRealValueType(type);
  if (!tensor.unsafeGetTensorImpl()->is_wrapped_number()) return tensor.to(own);
  at::Tensor number = tensor.to(own).to(tensor.is_complex() ? at::kComplexDouble : at::kDouble);
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  return number;
}

}  // namespace

NumberPrecision number_precision(const c10::OperatorHandle& op, std::size_t argument,
                                 c10::DeviceType device) {
  const std::string_view name = base_name(op);
  for (const KeptNumber& kept : kKept) {
    if (kept.name != name || (kept.argument != kAny && kept.argument != argument)) continue;
    return device == c10::kCPU ? kept.cpu : kept.cuda;
  }
  return NumberPrecision::dtype;
}

bool computes_in_opmath(const c10::OperatorHandle& op) {
  // addcmul(1, 1e30, 1e30, value=-1): the product is infinite in float32, as in bfloat16; and so is
  // exp(100) in softplus of 100.  elu multiplies its numbers there.
  return is_one_of(
      op, {"addcdiv", "addcmul", "celu", "elu", "lerp", "round", "softplus", "tanh_backward"});
}

bool is_of_its_dtype(const c10::OperatorHandle& op) {
  return is_one_of(op, {"nan_to_num", "nextafter"});
}

Stack operands_of_kernel(const c10::OperatorHandle& op, Stack stack) {
  if (!op.hasTag(at::Tag::pointwise)) return stack;
  const c10::FunctionSchema& schema = op.schema();
  const ScalarType common = common_dtype(schema, stack);
  if (!c10::isFloatingType(common) && !c10::isComplexType(common)) return stack;
  c10::DeviceType device = c10::kCPU;
  for (const IValue& value : stack) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    if (!value.toTensor().is_cpu()) device = value.toTensor().device().type();
  }
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (argument.alias_info() && argument.alias_info()->isWrite()) continue;
    const NumberPrecision precision = number_precision(op, i, device);
    if (precision == NumberPrecision::given) continue;
    const ScalarType of_numbers =
        precision == NumberPrecision::dtype ? common : at::toOpMathType(common);
    IValue& value = stack[i];
    if (value.isTensor() && value.toTensor().defined()) {
      const at::Tensor& tensor = value.toTensor();
      // The kernels that look for numbers take each tensor of one element on the CPU for one.
      const bool number = tensor.numel() == 1 && tensor.is_cpu();
      value = rounded_operand(tensor, number ? of_numbers : common);
    } else if (value.isScalar() && !value.isBool() && takes_number(argument)) {
      value = rounded_number(value.toScalar(), of_numbers);
    }
  }
  return stack;
}

}  // namespace lockstep::eager
