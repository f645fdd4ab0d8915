#include "judge/numerics/same.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cmath>

#include "judge/numerics/modulus.h"
#include "judge/numerics/numbers.h"

namespace lockstep {
namespace {

/// Upstream's m (get_multiplier), without its two opt-in flags.
double multiplier(const TensorView& ref, const Dtype& dtype, std::int64_t gold_elements,
                  double tol) {
  const std::size_t rank = ref.shape.size();
  const bool one_by_one = rank == 4 && ref.shape[2] == 1 && ref.shape[3] == 1;
  if (gold_elements < 1000 || one_by_one || tol >= 2 * 1e-2) return 3;
  return dtype.name == "float16" || dtype.name == "bfloat16" ? 3 : 2;
}

/// How many numbers of the two sides of a comparison are further apart than tol + tol |c|.
std::int64_t count_outside(Comparison& comparison, double tol) {
  // The greatest difference of narrow dtypes is rounded to float32.
  if (comparison.pair().max_abs * (1 + 0x1p-20) <= tol) return 0;
  const Dtype& dtype = *comparison.subject().eager->dtype;
  const std::size_t parts = dtype.is_complex() ? 2 : 1;
  std::atomic<std::int64_t> outside{0};
  for_chunks(comparison.walk().elements(), dtype.bytes, 0, [&](std::size_t, auto begin, auto end) {
    std::array<double, TensorWalk::kNumbers> e, c;
    std::int64_t here = 0;
    comparison.walk().visit(begin, end, [&](auto, std::int64_t count, const auto& blocks) {
      const auto elements = static_cast<std::size_t>(count);
      decode_block(dtype, blocks[0], elements, e.data());
      decode_block(dtype, blocks[1], elements, c.data());
      for (std::size_t i = 0; i < elements * parts; ++i) {
        // Masks are equal: what is not finite here is so on both sides.
        here += std::isfinite(e[i]) && !(std::fabs(e[i] - c[i]) <= tol + tol * std::fabs(c[i]));
      }
    });
    outside += here;
  });
  return outside * comparison.walk().multiplicity();
}

// From here on: upstream, to the letter.

/// Arithmetic as torch does it in tensors of a dtype: float64 in itself, everything else in
/// float32, and then rounded to the dtype.
class TorchArithmetic {
 public:
  explicit TorchArithmetic(const Dtype& dtype) : dtype_(dtype) {}

  /// torch.isclose(self, other, rtol=tol, atol=tol, equal_nan=…) for one pair
  /// (aten/src/ATen/native/TensorCompare.cpp).
  bool is_close(const double* self, const double* other, double tol, bool equal_nan) const {
    if (dtype_.is_complex()) return complex_is_close(self, other, tol, equal_nan);
    if (*self == *other) return true;
    if (dtype_.is_floating() && equal_nan && std::isnan(*self) && std::isnan(*other)) return true;
    if (!(tol > 0)) return false;
    const double allowed = round(operand(tol) + std::fabs(round(operand(tol) * operand(*other))));
    const double actual = std::fabs(round(operand(*self) - operand(*other)));
    return std::isfinite(actual) && actual <= allowed;
  }

 private:
  /// A value as it goes into an operation: integers become the default dtype.
  double operand(double value) const {
    return dtype_.bytes == 8 && dtype_.is_floating() ? value : static_cast<float>(value);
  }
  double round(double value) const {
    if (!dtype_.is_floating()) return static_cast<float>(value);
    if (dtype_.bytes == 8) return value;
    const auto once = static_cast<float>(value);
    if (dtype_.bytes == 4) return once;
    return decode_float(dtype_, encode_float(dtype_, once));
  }
  bool complex_is_close(const double* self, const double* other, double tol, bool equal_nan) const {
    if (self[0] == other[0] && self[1] == other[1]) return true;
    const auto nan = [](const double* z) { return std::isnan(z[0]) || std::isnan(z[1]); };
    if (equal_nan && nan(self) && nan(other)) return true;
    if (!(tol > 0)) return false;
    const double actual = modulus(self[0] - other[0], self[1] - other[1]);
    return std::isfinite(actual) && actual <= tol + modulus(tol * other[0], tol * other[1]);
  }

  const Dtype& dtype_;
};

/// The shape to which two shapes broadcast, or nothing.
std::optional<std::vector<std::int64_t>> broadcast(const std::vector<std::int64_t>& a,
                                                   const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> shape(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  return shape;
}

TensorView expand(const TensorView& view, const std::vector<std::int64_t>& shape) {
  TensorView expanded = view;
  const std::size_t added = shape.size() - view.shape.size();
  expanded.shape = shape;
  expanded.strides.assign(shape.size(), 0);
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] != 1) expanded.strides[added + d] = view.strides[d];
  }
  return expanded;
}

/// Calls `visit(a, b, parts)` for the numbers of every pair of elements, broadcast.
template <class Visit>
Result<void> for_pairs(const TensorView& a, const TensorView& b, Visit&& visit) {
  const auto shape = broadcast(a.shape, b.shape);
  if (!shape) {
    return fail(
        fmt::format("upstream raises: {} and {} do not broadcast", describe(a), describe(b)));
  }
  const TensorView x = expand(a, *shape);
  const TensorView y = expand(b, *shape);
  const std::array views = {&x, &y};
  const TensorWalk walk(views);
  const std::size_t x_parts = a.dtype->is_complex() ? 2 : 1;
  const std::size_t y_parts = b.dtype->is_complex() ? 2 : 1;
  std::array<double, TensorWalk::kNumbers> left, right;
  // Expanded dimensions are visited once; neither a conjunction nor a mean changes by that.
  walk.visit(0, walk.elements(), [&](auto, std::int64_t count, const auto& blocks) {
    const auto elements = static_cast<std::size_t>(count);
    decode_block(*a.dtype, blocks[0], elements, left.data());
    decode_block(*b.dtype, blocks[1], elements, right.data());
    for (std::size_t i = 0; i < elements; ++i) {
      visit(left.data() + i * x_parts, right.data() + i * y_parts);
    }
  });
  return {};
}

/// torch.allclose(a, b, rtol=tol, atol=tol, equal_nan=…), in arithmetic of a dtype.
Result<bool> all_close(const TensorView& a, const TensorView& b, const Dtype& dtype, double tol,
                       bool equal_nan) {
  const TorchArithmetic arithmetic(dtype);
  bool close = true;
  return for_pairs(a, b,
                   [&](const double* x, const double* y) {
                     close = close && arithmetic.is_close(x, y, tol, equal_nan);
                   })
      .map([&] { return close; });
}

/// sqrt(mean((a - b)^2)); NaN of nothing.
Result<double> rmse(const TensorView& a, const TensorView& b) {
  double squares = 0;
  double count = 0;
  return for_pairs(a, b,
                   [&](const double* x, const double* y) {
                     squares += (*x - *y) * (*x - *y);
                     count += 1;
                   })
      .map([&] { return std::sqrt(squares / count); });
}

bool has_nan(const TensorView& view) {
  bool found = false;
  static_cast<void>(for_pairs(
      view, view, [&](const double* x, const double*) { found = found || std::isnan(*x); }));
  return found;
}

/// A float64 gold cast to the dtype of the result, compared loosely: upstream's special case for a
/// reference with NaN.
Result<bool> gold_is_near(const TensorView& gold, const TensorView& res, double tol,
                          bool equal_nan) {
  const TorchArithmetic arithmetic(*res.dtype);
  const Dtype& dtype = *res.dtype;
  bool close = true;
  return for_pairs(gold, res,
                   [&](const double* x, const double* y) {
                     double cast[2] = {*x, 0};
                     if (dtype.is_floating() && dtype.bytes == 4) cast[0] = static_cast<float>(*x);
                     if (dtype.is_floating() && dtype.bytes < 4) {
                       // Twice, as torch does: to float32 first.
                       cast[0] = decode_float(dtype, encode_float(dtype, static_cast<float>(*x)));
                     }
                     close = close && arithmetic.is_close(cast, y, tol, equal_nan);
                   })
      .map([&] { return close; });
}

}  // namespace

CheckResult check_same(Comparison& comparison, double tol, bool cast_faithful) {
  const Subject& subject = comparison.subject();
  const PairNumbers& numbers = comparison.pair();
  const Dtype& dtype = *subject.eager->dtype;
  const std::int64_t all = subject.eager->elements();
  if (numbers.unequal == 0 || !number_dtype(dtype).is_floating()) {
    return leaf(Quantity::unequal, numbers.unequal, 0, [&] {
      return fmt::format("{} of {} elements differ{}", numbers.unequal, all,
                         comparison.worst_place());
    });
  }
  const std::int64_t outside = count_outside(comparison, tol);
  const std::string apart = fmt::format("{} of {} numbers further apart than {:.3g}", outside,
                                        dtype.is_complex() ? 2 * all : all, tol);
  const bool stepwise = cast_faithful && subject.golds[Gold::stepwise] != nullptr;
  const GoldNumbers* gold = nullptr;
  if (outside > 0) gold = stepwise ? comparison.gold_stepwise(0) : comparison.gold_fp64();
  if (gold == nullptr) {
    return leaf(Quantity::outside, outside, 0,
                [&] { return apart + ", and no gold" + comparison.worst_place(); });
  }
  const double allowed =
      multiplier(*subject.eager, dtype, all, tol) * gold->eager_rmse() + tol / 10.0;
  const double rmse = gold->compiled_rmse();
  const auto why = [&] {
    return fmt::format("{}, RMSE against the {} gold {:.3g}, {:.3g} allowed{}", apart,
                       stepwise ? "stepwise" : "fp64", rmse, allowed, comparison.worst_place());
  };
  if (gold->without_gold > 0) return leaf(Quantity::without_gold, gold->without_gold, 0, why);
  // No number is within what is not one.
  return leaf(Quantity::rmse, std::isfinite(rmse) ? rmse : std::nan(""), allowed, why);
}

CheckResult check_same_upstream(Comparison& comparison, double tol) {
  const Subject& subject = comparison.subject();
  const auto same =
      same_upstream(*subject.eager, *subject.compiled, subject.golds[Gold::fp64], tol, true);
  return leaf(Quantity::not_same, same && *same ? 0 : 1, 0, [&] {
    if (!same) return same.error().message;
    return fmt::format("torch._dynamo.utils.same(tol={:.3g}) is False{}", tol,
                       comparison.worst_place());
  });
}

Result<bool> same_upstream(const TensorView& ref, const TensorView& res, const TensorView* fp64_ref,
                           double tol, bool equal_nan) {
  const TensorView& gold = fp64_ref == nullptr ? ref : *fp64_ref;
  if (ref.dtype != res.dtype) return false;
  auto close = all_close(ref, res, *ref.dtype, tol, equal_nan);
  if (!close || *close || ref.dtype->kind == NumberKind::boolean) return close;
  if (gold.dtype->name != "float64") return false;
  if (ref.dtype->is_complex()) return fail("upstream raises: a real gold for complex tensors");

  if (!has_nan(gold) && !has_nan(res) && has_nan(ref)) {
    auto near = gold_is_near(gold, res, 1e-2 * 4, equal_nan);
    if (!near || *near) return near;
  }
  const auto ref_error = rmse(gold, ref);
  const auto res_error = rmse(gold, res);
  if (!ref_error) return tl::unexpected<Error>(ref_error.error());
  if (!res_error) return tl::unexpected<Error>(res_error.error());
  const double m = multiplier(ref, *res.dtype, gold.elements(), tol);
  if (*res_error <= m * *ref_error + tol / 10.0) return true;
  return equal_nan && std::isnan(*ref_error) && std::isnan(*res_error);
}

}  // namespace lockstep
