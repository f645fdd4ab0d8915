#include "judge/numerics/stepwise.h"

#include <fmt/format.h>

namespace lockstep {

CheckResult check_stepwise(Comparison& comparison, double steps) {
  const std::int64_t unequal = comparison.pair().unequal;
  if (unequal == 0) return leaf(Quantity::unequal, 0, 0, [] { return std::string(); });
  const GoldNumbers* gold = comparison.gold_stepwise(steps);
  if (gold == nullptr) {
    return leaf(Quantity::without_gold, unequal, 0, [&] {
      return "no stepwise gold" + because(comparison.subject().lost_stepwise) +
             comparison.worst_place();
    });
  }
  if (gold->without_gold > 0) {
    return leaf(Quantity::without_gold, gold->without_gold, 0, [&] {
      return comparison.share(gold->without_gold) +
             " differ where the stepwise gold is not finite" + comparison.worst_place();
    });
  }
  return leaf(Quantity::beyond, gold->beyond_steps, 0, [&] {
    return fmt::format("{} more than {} ulp further from the stepwise gold than eager{}",
                       comparison.share(gold->beyond_steps), steps, comparison.worst_place());
  });
}

}  // namespace lockstep
