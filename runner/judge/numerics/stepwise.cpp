#include "judge/numerics/stepwise.h"

#include <fmt/format.h>

#include <algorithm>

#include "judge/numerics/numbers.h"

namespace lockstep {

CheckResult check_stepwise(Comparison& comparison, double steps) {
  const std::int64_t unequal = comparison.pair().unequal;
  if (unequal == 0) return leaf(Quantity::unequal, 0, 0, [] { return std::string(); });
  const GoldNumbers* gold = comparison.gold_stepwise(steps);
  if (gold == nullptr) {
    return leaf(Quantity::without_gold, unequal, 0, [&] {
      return "no stepwise gold" + because(comparison.subject().lost[Gold::stepwise]) +
             comparison.worst_place();
    });
  }
  if (gold->without_gold > 0) {
    return leaf(Quantity::without_gold, gold->without_gold, 0, [&] {
      return comparison.of_all(gold->without_gold) +
             " differ where the stepwise gold is not finite" + comparison.worst_place();
    });
  }
  const NoiseNumbers noise =
      gold->beyond_steps > 0 ? comparison.noise_stepwise(steps) : NoiseNumbers();
  const std::int64_t allowed = noise.beyond > 0 ? 2 * noise.beyond + 2 : 0;
  CheckResult result = leaf(Quantity::beyond, gold->beyond_steps, allowed, [&] {
    const std::string some = allowed > 0 ? fmt::format(", {} allowed", allowed) : "";
    return fmt::format("{} more than {} ulp further from the stepwise gold than eager{}{}",
                       comparison.of_all(gold->beyond_steps), steps, some,
                       comparison.worst_place());
  });
  if (!result.holds() || gold->beyond_steps == 0) return result;
  const Dtype& number = number_dtype(*comparison.subject().eager->dtype);
  const double slack = number.is_floating() ? steps * ulp_at(number, gold->gold_max) : 0;
  const double limit = kNoiseFactor * noise.max + slack;
  return leaf(Quantity::error, gold->compiled_max, limit, [&] {
    return fmt::format(
        "error against the stepwise gold {:.3g}, eager's {:.3g}, that of ties {:.3g}{}",
        gold->compiled_max, gold->eager_max, noise.max, comparison.worst_place());
  });
}

}  // namespace lockstep
