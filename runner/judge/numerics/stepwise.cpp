#include "judge/numerics/stepwise.h"

#include <fmt/format.h>

namespace lockstep {

CheckResult check_stepwise(Comparison& comparison, double steps) {
  if (comparison.pair().unequal == 0) return {};
  const GoldNumbers* gold = comparison.gold_stepwise(steps);
  if (gold == nullptr) return comparison.differ("no stepwise gold");
  if (gold->without_gold > 0) {
    return comparison.differ(comparison.share(gold->without_gold) +
                             " differ where the stepwise gold is not finite");
  }
  if (gold->beyond_steps == 0) return {};
  return comparison.differ(
      fmt::format("{} more than {} ulp further from the stepwise gold than eager",
                  comparison.share(gold->beyond_steps), steps));
}

}  // namespace lockstep
