#include "workers/eager/correct.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>
#include <mpfr.h>

#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "workers/eager/operators.h"

namespace lockstep::eager {
namespace {

using c10::IValue;
using torch::jit::Stack;

constexpr mpfr_prec_t kBits = 128;

/// A number of MPFR's.
class Real {
 public:
  Real() { mpfr_init2(it_, kBits); }
  ~Real() { mpfr_clear(it_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;

  operator mpfr_ptr() { return it_; }
  double rounded() const { return mpfr_get_d(it_, MPFR_RNDN); }

 private:
  mpfr_t it_;
};

/// What a function works with: operands, in the schema's order, and room for its steps.
struct Operation {
  Real y;                       ///< the result
  std::array<Real, 4> x;        ///< operands
  std::array<Real, 3> t;        ///< steps
  std::array<double, 4> given;  ///< operands as they were given
};

using ElementFunction = void (*)(Operation&);

#define LOCKSTEP_UNARY(function) [](Operation& w) { function(w.y, w.x[0], MPFR_RNDN); }
#define LOCKSTEP_BINARY(function) [](Operation& w) { function(w.y, w.x[0], w.x[1], MPFR_RNDN); }

/// log(1 + exp(x))
void softplus_of(mpfr_ptr y, mpfr_ptr x) {
  mpfr_exp(y, x, MPFR_RNDN);
  mpfr_log1p(y, y, MPFR_RNDN);
}

/// 1 / (1 + exp(-x))
void sigmoid_of(mpfr_ptr y, mpfr_ptr x) {
  mpfr_neg(y, x, MPFR_RNDN);
  mpfr_exp(y, y, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_ui_div(y, 1, y, MPFR_RNDN);
}

void sigmoid(Operation& w) { sigmoid_of(w.y, w.x[0]); }

void silu(Operation& w) {
  sigmoid_of(w.t[0], w.x[0]);
  mpfr_mul(w.y, w.x[0], w.t[0], MPFR_RNDN);
}

/// min(x, 0) - log(1 + exp(-|x|)), of which nothing cancels
void log_sigmoid(Operation& w) {
  mpfr_neg(w.t[0], w.x[0], MPFR_RNDN);
  softplus_of(w.y, w.t[0]);
  mpfr_neg(w.y, w.y, MPFR_RNDN);
}

/// x / 2 erfc(-x / sqrt(2))
void gelu(Operation& w) {
  mpfr_sqrt_ui(w.t[0], 2, MPFR_RNDN);
  mpfr_div(w.t[0], w.x[0], w.t[0], MPFR_RNDN);
  mpfr_neg(w.t[0], w.t[0], MPFR_RNDN);
  mpfr_erfc(w.t[0], w.t[0], MPFR_RNDN);
  mpfr_mul(w.y, w.x[0], w.t[0], MPFR_RNDN);
  mpfr_div_2ui(w.y, w.y, 1, MPFR_RNDN);
}

/// x tanh(log(1 + exp(x)))
void mish(Operation& w) {
  softplus_of(w.t[0], w.x[0]);
  mpfr_tanh(w.t[0], w.t[0], MPFR_RNDN);
  mpfr_mul(w.y, w.x[0], w.t[0], MPFR_RNDN);
}

/// log(1 + exp(beta x)) / beta, x itself where beta x > threshold
void softplus(Operation& w) {
  if (w.given[0] * w.given[1] > w.given[2]) {
    mpfr_set(w.y, w.x[0], MPFR_RNDN);
    return;
  }
  mpfr_mul(w.t[0], w.x[0], w.x[1], MPFR_RNDN);
  softplus_of(w.y, w.t[0]);
  mpfr_div(w.y, w.y, w.x[1], MPFR_RNDN);
}

/// scale x, or scale alpha (exp(input_scale x) - 1) where x is negative
void elu(Operation& w) {
  if (w.given[0] > 0) {
    mpfr_mul(w.y, w.x[0], w.x[2], MPFR_RNDN);
    return;
  }
  mpfr_mul(w.y, w.x[0], w.x[3], MPFR_RNDN);
  mpfr_expm1(w.y, w.y, MPFR_RNDN);
  mpfr_mul(w.y, w.y, w.x[1], MPFR_RNDN);
  mpfr_mul(w.y, w.y, w.x[2], MPFR_RNDN);
}

/// log(x / (1 - x))
void logit(Operation& w) {
  mpfr_ui_sub(w.t[0], 1, w.x[0], MPFR_RNDN);
  mpfr_div(w.t[0], w.x[0], w.t[0], MPFR_RNDN);
  mpfr_log(w.y, w.t[0], MPFR_RNDN);
}

/// sin(pi x) / (pi x)
void sinc(Operation& w) {
  if (w.given[0] == 0) {
    mpfr_set_ui(w.y, 1, MPFR_RNDN);
    return;
  }
  mpfr_sinpi(w.y, w.x[0], MPFR_RNDN);
  mpfr_const_pi(w.t[0], MPFR_RNDN);
  mpfr_mul(w.t[0], w.t[0], w.x[0], MPFR_RNDN);
  mpfr_div(w.y, w.y, w.t[0], MPFR_RNDN);
}

/// -x log(x)
void entr(Operation& w) {
  mpfr_log(w.t[0], w.x[0], MPFR_RNDN);
  mpfr_mul(w.y, w.x[0], w.t[0], MPFR_RNDN);
  mpfr_neg(w.y, w.y, MPFR_RNDN);
}

void xlogy(Operation& w) {
  mpfr_log(w.t[0], w.x[1], MPFR_RNDN);
  mpfr_mul(w.y, w.x[0], w.t[0], MPFR_RNDN);
}

void xlog1py(Operation& w) {
  mpfr_log1p(w.t[0], w.x[1], MPFR_RNDN);
  mpfr_mul(w.y, w.x[0], w.t[0], MPFR_RNDN);
}

/// max + log(1 + exp(min - max))
void logaddexp(Operation& w) {
  const bool first = w.given[0] >= w.given[1];
  mpfr_sub(w.t[0], w.x[first ? 1 : 0], w.x[first ? 0 : 1], MPFR_RNDN);
  softplus_of(w.t[1], w.t[0]);
  mpfr_add(w.y, w.x[first ? 0 : 1], w.t[1], MPFR_RNDN);
}

/// x - tanh(x)
void tanhshrink(Operation& w) {
  mpfr_tanh(w.t[0], w.x[0], MPFR_RNDN);
  mpfr_sub(w.y, w.x[0], w.t[0], MPFR_RNDN);
}

void lgamma(Operation& w) {
  int sign = 0;
  mpfr_lgamma(w.y, &sign, w.x[0], MPFR_RNDN);
}

struct Correct {
  std::string_view name;  ///< of the operator, every functional overload
  std::size_t operands;   ///< tensors and numbers
  ElementFunction function;
};

constexpr std::array kCorrect = std::to_array<Correct>({
    {"acos", 1, LOCKSTEP_UNARY(mpfr_acos)},
    {"acosh", 1, LOCKSTEP_UNARY(mpfr_acosh)},
    {"asin", 1, LOCKSTEP_UNARY(mpfr_asin)},
    {"asinh", 1, LOCKSTEP_UNARY(mpfr_asinh)},
    {"atan", 1, LOCKSTEP_UNARY(mpfr_atan)},
    {"atan2", 2, LOCKSTEP_BINARY(mpfr_atan2)},
    {"atanh", 1, LOCKSTEP_UNARY(mpfr_atanh)},
    {"cos", 1, LOCKSTEP_UNARY(mpfr_cos)},
    {"cosh", 1, LOCKSTEP_UNARY(mpfr_cosh)},
    {"digamma", 1, LOCKSTEP_UNARY(mpfr_digamma)},
    {"elu", 4, elu},
    {"erf", 1, LOCKSTEP_UNARY(mpfr_erf)},
    {"erfc", 1, LOCKSTEP_UNARY(mpfr_erfc)},
    {"exp", 1, LOCKSTEP_UNARY(mpfr_exp)},
    {"exp2", 1, LOCKSTEP_UNARY(mpfr_exp2)},
    {"expm1", 1, LOCKSTEP_UNARY(mpfr_expm1)},
    {"gelu", 1, gelu},
    {"hypot", 2, LOCKSTEP_BINARY(mpfr_hypot)},
    {"lgamma", 1, lgamma},
    {"log", 1, LOCKSTEP_UNARY(mpfr_log)},
    {"log10", 1, LOCKSTEP_UNARY(mpfr_log10)},
    {"log1p", 1, LOCKSTEP_UNARY(mpfr_log1p)},
    {"log2", 1, LOCKSTEP_UNARY(mpfr_log2)},
    {"log_sigmoid", 1, log_sigmoid},
    {"logaddexp", 2, logaddexp},
    {"logit", 1, logit},
    {"mish", 1, mish},
    {"pow", 2, LOCKSTEP_BINARY(mpfr_pow)},
    {"rsqrt", 1, LOCKSTEP_UNARY(mpfr_rec_sqrt)},
    {"sigmoid", 1, sigmoid},
    {"silu", 1, silu},
    {"sin", 1, LOCKSTEP_UNARY(mpfr_sin)},
    {"sinc", 1, sinc},
    {"sinh", 1, LOCKSTEP_UNARY(mpfr_sinh)},
    {"softplus", 3, softplus},
    {"special_entr", 1, entr},
    {"special_xlog1py", 2, xlog1py},
    {"sqrt", 1, LOCKSTEP_UNARY(mpfr_sqrt)},
    {"tan", 1, LOCKSTEP_UNARY(mpfr_tan)},
    {"tanh", 1, LOCKSTEP_UNARY(mpfr_tanh)},
    {"tanhshrink", 1, tanhshrink},
    {"xlogy", 2, xlogy},
});

#undef LOCKSTEP_UNARY
#undef LOCKSTEP_BINARY

bool is_functional(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.alias_info()) return false;
  }
  return true;
}

const Correct* correct_of(const c10::OperatorHandle& op) {
  if (!is_functional(op.schema())) return nullptr;
  for (const Correct& correct : kCorrect) {
    if (correct.name == base_name(op)) return &correct;
  }
  return nullptr;
}

/// The tensors and numbers of a call as float64 tensors, in the schema's order; nothing where one
/// is of another kind, or an argument says how to compute that is not the default.
std::optional<std::vector<at::Tensor>> operands_of(const Correct& correct,
                                                   const c10::FunctionSchema& schema,
                                                   const Stack& stack) {
  std::vector<at::Tensor> operands;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (stack[i].isTensor() && stack[i].toTensor().defined()) {
      const at::Tensor& tensor = stack[i].toTensor();
      const bool real = c10::isFloatingType(tensor.scalar_type()) ||
                        c10::isIntegralType(tensor.scalar_type(), true);
      if (!real || !tensor.is_cpu() || tensor.layout() != at::kStrided) return std::nullopt;
      operands.push_back(tensor.detach().to(at::kDouble));
    } else if ((stack[i].isDouble() || stack[i].isInt()) && operands.size() < correct.operands) {
      operands.push_back(at::scalar_tensor(stack[i].toScalar().toDouble(), at::kDouble));
    } else {
      const auto& usual = schema.arguments()[i].default_value();
      if (!usual || *usual != stack[i]) return std::nullopt;
    }
  }
  if (operands.size() != correct.operands) return std::nullopt;
  return operands;
}

}  // namespace

std::string correct_by() { return std::string("MPFR ") + mpfr_get_version(); }

bool is_correct_by_ieee(const c10::OperatorHandle& op, const Stack& stack) {
  static const std::set<std::string_view> names = {
      "abs",        "add",     "ceil",    "clamp", "clamp_max", "clamp_min", "copysign", "div",
      "eq",         "floor",   "fmax",    "fmin",  "frac",      "ge",        "gt",       "le",
      "lt",         "maximum", "minimum", "mul",   "ne",        "neg",       "positive", "relu",
      "reciprocal", "sign",    "sub",     "trunc", "where"};
  const auto& arguments = op.schema().arguments();
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (stack[i].isTensor() && stack[i].toTensor().defined() && stack[i].toTensor().is_complex()) {
      return false;
    }
    // alpha is another product, a rounding mode another division.
    const auto& usual = arguments[i].default_value();
    if (arguments[i].kwarg_only() && usual && *usual != stack[i]) return false;
  }
  return is_functional(op.schema()) && names.contains(base_name(op));
}

bool moves_values(const c10::OperatorHandle& op) {
  static const std::set<std::string_view> names = {
      "_to_copy", "alias",   "cat",    "clone",     "contiguous", "detach", "expand", "flatten",
      "flip",     "permute", "repeat", "reshape",   "roll",       "select", "slice",  "squeeze",
      "stack",    "t",       "to",     "transpose", "unsqueeze",  "view"};
  return names.contains(base_name(op));
}

bool make_correct(const c10::OperatorHandle& op, const Stack& stack, std::vector<IValue>& results) {
  const Correct* correct = correct_of(op);
  if (correct == nullptr || results.size() != 1 || !results[0].isTensor()) return false;
  const at::Tensor result = results[0].toTensor().detach();
  if (result.scalar_type() != at::kDouble || !result.is_cpu()) return false;
  auto operands = operands_of(*correct, op.schema(), stack);
  if (!operands) return false;
  std::vector<at::Tensor> flat;
  for (const at::Tensor& operand : *operands) {
    flat.push_back(operand.expand(result.sizes()).contiguous());
  }
  at::Tensor values = result.contiguous();
  auto* value = values.mutable_data_ptr<double>();
  Operation work;
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    bool finite = true;
    for (std::size_t k = 0; k < flat.size(); ++k) {
      work.given[k] = flat[k].const_data_ptr<double>()[i];
      finite = finite && std::isfinite(work.given[k]);
      mpfr_set_d(work.x[k], work.given[k], MPFR_RNDN);
    }
    if (!finite) continue;
    correct->function(work);
    const double rounded = work.y.rounded();
    // An infinity that is no overflow is a pole, and torch's business.
    const bool number = mpfr_number_p(static_cast<mpfr_ptr>(work.y)) != 0;
    if (number && !(rounded == 0 && value[i] == 0)) value[i] = rounded;
  }
  const at::NoGradGuard no_grad;
  if (!values.is_same(result)) result.copy_(values);
  return true;
}

}  // namespace lockstep::eager
