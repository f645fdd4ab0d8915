#include "judge/numerics/statistical.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace lockstep {
namespace {

/// Moments of the finite numbers of a tensor.
struct Moments {
  double finite = 0;  ///< how many
  double nonfinite = 0;
  double mean = 0;
  double variance = 0;
  double fourth = 0;  ///< central
};

template <class Visit>
void for_numbers(const TensorView& view, Visit&& visit) {
  const std::array views = {&view};
  const TensorWalk walk(views);
  const std::size_t parts = view.dtype->is_complex() ? 2 : 1;
  std::array<double, static_cast<std::size_t>(TensorWalk::kBlock) * 2> numbers;
  walk.visit(0, walk.elements(), [&](auto, std::int64_t count, const auto& blocks) {
    const auto elements = static_cast<std::size_t>(count);
    decode_block(*view.dtype, blocks[0], elements, numbers.data());
    for (std::size_t i = 0; i < elements * parts; ++i) visit(numbers[i]);
  });
}

Moments moments_of(const TensorView& view) {
  Moments moments;
  double sum = 0;
  for_numbers(view, [&](double x) {
    (std::isfinite(x) ? moments.finite : moments.nonfinite) += 1;
    if (std::isfinite(x)) sum += x;
  });
  if (moments.finite < 1) return moments;
  moments.mean = sum / moments.finite;
  // A second pass: the powers of differences from a mean that is known lose no digits.
  for_numbers(view, [&](double x) {
    if (!std::isfinite(x)) return;
    const double square = (x - moments.mean) * (x - moments.mean);
    moments.variance += square;
    moments.fourth += square * square;
  });
  moments.variance /= moments.finite;
  moments.fourth /= moments.finite;
  return moments;
}

}  // namespace

double normal_quantile(double probability) {
  double low = 0;
  double high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > probability ? low : high) = middle;
  }
  return high;
}

CheckResult check_statistical(Comparison& comparison, double false_alarm) {
  const Subject& subject = comparison.subject();
  const Moments e = moments_of(*subject.eager);
  const Moments c = moments_of(*subject.compiled);
  const double n = e.finite + e.nonfinite;
  const double m = c.finite + c.nonfinite;
  if (subject.eager->elements() < kLeastSample) {
    return leaf(Quantity::nonfinite, c.nonfinite, e.nonfinite > 0 ? m : 0, [&] {
      return fmt::format("{} of {} numbers are not finite, none in eager", c.nonfinite, m);
    });
  }
  const double z = normal_quantile(false_alarm / 3);
  const double pooled = (e.nonfinite + c.nonfinite) / (n + m);
  CheckResult shares =
      leaf(Quantity::nonfinite, std::fabs(e.nonfinite / n - c.nonfinite / m),
           z * std::sqrt(pooled * (1 - pooled) * (1 / n + 1 / m)), [&] {
             return fmt::format("{} of {} numbers are not finite, {} of {} in eager", c.nonfinite,
                                m, e.nonfinite, n);
           });
  if (!shares.holds() || e.finite < 1 || c.finite < 1) return shares;
  const auto moment = [&](Quantity of, double eager, double compiled, double chance) {
    return leaf(of, std::fabs(compiled - eager), chance, [&] {
      return fmt::format(
          "{} {:.6g}, eager's {:.6g}: {:.3g} apart, {:.3g} is chance with probability {:.3g}",
          name_of(of), compiled, eager, std::fabs(compiled - eager), chance, false_alarm);
    });
  };
  const double squares = e.variance / e.finite + c.variance / c.finite;
  // Rounding of a sum of equal numbers must not fail a sample without variance.
  CheckResult means =
      moment(Quantity::mean, e.mean, c.mean, z * std::sqrt(squares) + 1e-12 * std::fabs(e.mean));
  if (!means.holds()) return means;
  const auto spread = [](const Moments& moments) {
    return std::max(0.0, moments.fourth - moments.variance * moments.variance) / moments.finite;
  };
  CheckResult variances =
      moment(Quantity::variance, e.variance, c.variance,
             z * std::sqrt(spread(e) + spread(c)) + z * z * squares + 1e-12 * e.variance);
  return variances.holds() ? means : variances;
}

}  // namespace lockstep
