#include "workers/eager/noise.h"

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/view_as_real.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/dtype.h"
#include "base/splitmix.h"
#include "workers/eager/names.h"
#include "workers/eager/tensors.h"

namespace lockstep::eager {
namespace {

using c10::ScalarType;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// How far Noise::Of::kernels moves a result of 16 bits, in parts of itself.
constexpr double kKernelError = 64 * 0x1p-24;

/// The numbers of a floating dtype: multiples of the unit around each.
class Grid {
 public:
  explicit Grid(ScalarType type) : dtype_(*find_dtype(dtype_name(c10::toRealValueType(type)))) {}

  double unit_at(double x) const { return ulp_at(dtype_, x); }
  bool holds(double x) const {
    const double units = x / unit_at(x);  // exact: a power of two
    return !std::isfinite(x) || units == std::trunc(units);
  }
  /// Whether a step with that result in float64 rounded nothing.  What float64 rounds, nothing
  /// wider tells: a number that float32 holds is taken for an exact one.
  bool is_exact(double x) const {
    static const Grid single(at::kFloat);
    return dtype_.bytes == 8 ? single.holds(x) : holds(x);
  }

 private:
  const Dtype& dtype_;
};

bool is_number(ScalarType type) { return c10::isFloatingType(type) || c10::isComplexType(type); }

/// Whether a result of that dtype is rounded after a computation in float64.
bool is_rounded(const at::Tensor& wide, ScalarType to) {
  if (!is_number(wide.scalar_type()) || !is_number(to)) return false;
  return find_dtype(dtype_name(c10::toRealValueType(to)))->mantissa_bits > 0;
}

/// A copy in double on the CPU, each number x with the random bits h being change(x, h).
at::Tensor changed(const at::Tensor& tensor, std::uint64_t seed,
                   const std::function<double(double, std::uint64_t)>& change) {
  const bool complex = tensor.is_complex();
  at::Tensor copy = at::empty_like(tensor, tensor.options()
                                               .dtype(complex ? at::kComplexDouble : at::kDouble)
                                               .device(at::kCPU)
                                               .requires_grad(false));
  copy.copy_(tensor.detach());
  // Dense, whatever the order of its dimensions.
  auto* numbers = static_cast<double*>(copy.mutable_data_ptr());
  std::uint64_t state = seed;
  state = splitmix64(state);
  for (std::int64_t i = 0; i < copy.numel() * (complex ? 2 : 1); ++i)
    numbers[i] = change(numbers[i], splitmix64(state));
  return copy;
}

at::Tensor rounded(const at::Tensor& wide, ScalarType to, Noise::Of of, std::uint64_t seed) {
  if (!is_rounded(wide, to)) return wide.to(to);
  const Grid grid(to);
  const bool by_kernels = of == Noise::Of::kernels && at::toOpMathType(to) != to;
  const at::Tensor moved = changed(wide, seed, [&](double x, std::uint64_t random) {
    if (grid.is_exact(x)) return x;
    const double sign = (random & 1) != 0 ? 1 : -1;
    if (by_kernels) return x * (1 + sign * kKernelError);
    const double unit = grid.unit_at(x);
    if (grid.holds(x)) return x + sign * unit;
    return sign > 0 ? std::ceil(x / unit) * unit : std::floor(x / unit) * unit;
  });
  return moved.to(wide.device()).to(to);
}

Noise::Of of_saved(const c10::IValue& value) { return static_cast<Noise::Of>(value.toInt()); }

struct RoundStep : torch::autograd::Function<RoundStep> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& wide, std::int64_t to,
                            std::int64_t of, std::int64_t seed) {
    context->saved_data["from"] = static_cast<std::int64_t>(wide.scalar_type());
    return rounded(wide, static_cast<ScalarType>(to), static_cast<Noise::Of>(of),
                   static_cast<std::uint64_t>(seed));
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto from = static_cast<ScalarType>(context->saved_data["from"].toInt());
    return {gradients[0].defined() ? gradients[0].to(from) : at::Tensor(), {}, {}, {}};
  }
};

struct WidenOperand : torch::autograd::Function<WidenOperand> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& narrow, std::int64_t to,
                            std::int64_t of, std::int64_t seed) {
    context->saved_data["narrow"] = static_cast<std::int64_t>(narrow.scalar_type());
    context->saved_data["of"] = of;
    context->saved_data["seed"] = seed;
    return narrow.to(static_cast<ScalarType>(to));
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (!gradients[0].defined()) return {at::Tensor(), {}, {}, {}};
    const auto narrow = static_cast<ScalarType>(context->saved_data["narrow"].toInt());
    const auto seed = static_cast<std::uint64_t>(context->saved_data["seed"].toInt());
    return {rounded(gradients[0], narrow, of_saved(context->saved_data["of"]), seed), {}, {}, {}};
  }
};

bool records(const at::Tensor& tensor) {
  return at::GradMode::is_enabled() && tensor.requires_grad();
}

}  // namespace

at::Tensor Noise::round(const at::Tensor& wide, ScalarType to) {
  const std::uint64_t seed = next();
  if (!records(wide) || !is_rounded(wide, to)) return rounded(wide, to, of_, seed);
  return RoundStep::apply(wide, static_cast<std::int64_t>(to), static_cast<std::int64_t>(of_),
                          static_cast<std::int64_t>(seed));
}

at::Tensor Noise::cast(const at::Tensor& tensor, ScalarType to) {
  if (of_ == Of::kernels || tensor.is_complex() != c10::isComplexType(to)) return tensor.to(to);
  return round(widen(tensor, widest(tensor.scalar_type())), to);
}

at::Tensor Noise::widen(const at::Tensor& narrow, ScalarType to) {
  const std::uint64_t seed = next();
  if (narrow.scalar_type() == to) return narrow;
  if (!records(narrow)) return narrow.to(to);
  return WidenOperand::apply(narrow, static_cast<std::int64_t>(to), static_cast<std::int64_t>(of_),
                             static_cast<std::int64_t>(seed));
}

at::Tensor Noise::move(const at::Tensor& wide, ScalarType of_sums) {
  const std::uint64_t seed = next();
  if (!is_rounded(wide, of_sums)) return wide;
  const Grid grid(of_sums);
  const at::Tensor by = changed(wide, seed, [&](double x, std::uint64_t random) {
    if (!std::isfinite(x)) return 0.0;
    const double unit = x == 0 ? 0 : grid.unit_at(x);
    return (random & 1) != 0 ? unit : -unit;
  });
  return wide + by.to(wide.options().requires_grad(false));
}

bool holds_exactly(ScalarType to, const at::Tensor& wide) {
  if (!is_rounded(wide, to)) return true;
  const Grid grid(to);
  bool holds = true;
  each_number(wide, [&](double x) { holds = holds && grid.is_exact(x); });
  return holds;
}

void each_number(const at::Tensor& tensor, const std::function<void(double)>& visit) {
  const at::Tensor real = tensor.is_complex() ? at::view_as_real(tensor.resolve_conj()) : tensor;
  const at::Tensor numbers = real.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* first = numbers.const_data_ptr<double>();
  std::for_each(first, first + numbers.numel(), visit);
}

}  // namespace lockstep::eager
