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
  if (subject.eager->elements() < kLeastSample) {
    if (e.nonfinite > 0 || c.nonfinite == 0) return {};
    return {Status::nonfinite_differs, fmt::format("{} of {} numbers are not finite, none in eager",
                                                   c.nonfinite, c.finite + c.nonfinite)};
  }
  const double z = normal_quantile(false_alarm / 3);
  const double n = e.finite + e.nonfinite;
  const double m = c.finite + c.nonfinite;
  const double pooled = (e.nonfinite + c.nonfinite) / (n + m);
  const double shares = std::fabs(e.nonfinite / n - c.nonfinite / m);
  if (shares > z * std::sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))) {
    return {Status::nonfinite_differs,
            fmt::format("{} of {} numbers are not finite, {} of {} in eager", c.nonfinite, m,
                        e.nonfinite, n)};
  }
  if (e.finite < 1 || c.finite < 1) return {};
  const double squares = e.variance / e.finite + c.variance / c.finite;
  // Rounding of a sum of equal numbers must not fail a sample without variance.
  const double mean_bound = z * std::sqrt(squares) + 1e-12 * std::fabs(e.mean);
  if (std::fabs(c.mean - e.mean) > mean_bound) {
    return {Status::value_differs,
            fmt::format("mean {:.6g}, eager's {:.6g}: {:.3g} apart, {:.3g} is chance with "
                        "probability {:.3g}",
                        c.mean, e.mean, std::fabs(c.mean - e.mean), mean_bound, false_alarm)};
  }
  const auto spread = [](const Moments& moments) {
    return std::max(0.0, moments.fourth - moments.variance * moments.variance) / moments.finite;
  };
  const double variance_bound =
      z * std::sqrt(spread(e) + spread(c)) + z * z * squares + 1e-12 * e.variance;
  if (std::fabs(c.variance - e.variance) > variance_bound) {
    return {Status::value_differs,
            fmt::format("variance {:.6g}, eager's {:.6g}: {:.3g} apart, {:.3g} is chance with "
                        "probability {:.3g}",
                        c.variance, e.variance, std::fabs(c.variance - e.variance), variance_bound,
                        false_alarm)};
  }
  return {};
}

}  // namespace lockstep
