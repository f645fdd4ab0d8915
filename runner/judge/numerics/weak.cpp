#include "judge/numerics/weak.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "judge/numerics/close.h"
#include "judge/numerics/numbers.h"

namespace lockstep {
namespace {

using Kind = Policy::Kind;

/// Where eager is far from the gold that a rule measured against.
std::string far_from_gold(Comparison& comparison, const Policy& rule) {
  if (comparison.pair().not_close == 0) return "";
  const bool stepwise =
      rule.kind == Kind::stepwise ||
      (rule.kind == Kind::same && comparison.subject().golds[Gold::stepwise] != nullptr);
  const double steps = rule.kind == Kind::stepwise ? rule.parameter : 0;
  const GoldNumbers* gold = stepwise ? comparison.gold_stepwise(steps) : comparison.gold_fp64();
  if (gold == nullptr) return "";
  const std::string_view name = stepwise ? "stepwise" : "fp64";
  if (8 * gold->eager_max > gold->gold_max) {
    return fmt::format("eager itself is far from the {} gold: {:.3g} off, of numbers up to {:.3g}",
                       name, gold->eager_max, gold->gold_max);
  }
  if (32 * gold->eager_gross > gold->looked_at) {
    return fmt::format(
        "eager itself is far from the {} gold: {} of {} numbers are more than an eighth off", name,
        gold->eager_gross, gold->looked_at);
  }
  return "";
}

/// A difference and the greater magnitude of both sides.
struct Apart {
  double difference = 0;
  double magnitude = 0;
};

/// Where only the absolute part of a tolerance lets the numbers pass.
std::string below_atol(const Comparison& comparison, double rtol) {
  const Subject& subject = comparison.subject();
  const Dtype& dtype = *subject.eager->dtype;
  const Dtype& number = number_dtype(dtype);
  const double least = std::max(close_tolerance(dtype).rtol, 2 * unit_roundoff(number));
  const double far = std::max(rtol, std::min(64 * least, 1.0 / 8));
  const std::size_t parts = dtype.is_complex() ? 2 : 1;
  std::array<double, static_cast<std::size_t>(TensorWalk::kBlock) * 2> e, c;
  Apart greatest, furthest;  // of all numbers; of those that are far apart
  std::int64_t unequal = 0, apart = 0;
  comparison.walk().visit(
      0, comparison.walk().elements(), [&](auto, std::int64_t count, const auto& blocks) {
        const auto elements = static_cast<std::size_t>(count);
        decode_block(dtype, blocks[0], elements, e.data());
        decode_block(dtype, blocks[1], elements, c.data());
        for (std::size_t i = 0; i < elements * parts; ++i) {
          if (!std::isfinite(e[i]) || !std::isfinite(c[i])) continue;
          const Apart here = {std::fabs(c[i] - e[i]), std::max(std::fabs(e[i]), std::fabs(c[i]))};
          greatest.magnitude = std::max(greatest.magnitude, here.magnitude);
          if (!(here.difference > 0)) continue;
          ++unequal;
          greatest.difference = std::max(greatest.difference, here.difference);
          if (!(here.difference > far * here.magnitude)) continue;
          ++apart;
          if (here.difference > furthest.difference) furthest = here;
        }
      });
  const bool all = greatest.difference > far * greatest.magnitude;
  if (!all && (apart == 0 || apart < unequal)) return "";
  const Apart& shown = all ? greatest : furthest;
  return fmt::format(
      "only the absolute tolerance lets it pass: {:.3g} apart at a magnitude of {:.3g}",
      shown.difference, shown.magnitude);
}

/// Of one rule that holds.
std::string weakness_of(Comparison& comparison, const Measurement& leaf) {
  const auto rule = parse_policy(leaf.policy);
  if (!rule) return "";
  if (rule->kind == Kind::decided) {
    return fmt::format("{} turn on how steps are rounded, or on a cast that is not defined",
                       comparison.of_all(comparison.pair().differing));
  }
  if (!number_dtype(*comparison.subject().eager->dtype).is_floating()) return "";
  switch (leaf.of) {
    case Quantity::error:
    case Quantity::beyond:
    case Quantity::rmse:
      return far_from_gold(comparison, *rule);
    case Quantity::outside:
      // `same` has one number for both parts of its tolerance.
      return below_atol(comparison, rule->kind == Kind::same ? rule->parameter
                                    : rule->rtol             ? *rule->rtol
                                                             : 0);
    default:
      return "";
  }
}

}  // namespace

std::string weakness(Comparison& comparison, const CheckResult& result) {
  const PairNumbers& numbers = comparison.pair();
  if (!result.holds() || numbers.differing == 0) return "";
  if (numbers.nonfinite > 0) {
    return fmt::format("NaN or infinity turns on how steps are rounded, in {}",
                       comparison.of_all(numbers.nonfinite));
  }
  if (numbers.unequal == 0) {
    return fmt::format("only the sign of zero differs, in {}",
                       comparison.of_all(numbers.differing));
  }
  std::string first;
  for (const Measurement& leaf : result.leaves) {
    if (!leaf.ok) continue;
    std::string weak = weakness_of(comparison, leaf);
    if (weak.empty()) return "";  // one rule that says something is enough
    if (first.empty()) first = std::move(weak);
  }
  return first;
}

}  // namespace lockstep
