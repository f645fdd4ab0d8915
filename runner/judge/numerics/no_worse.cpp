#include "judge/numerics/no_worse.h"

#include <fmt/format.h>

#include "judge/numerics/numbers.h"

namespace lockstep {

CheckResult check_no_worse(Comparison& comparison, double factor) {
  if (comparison.pair().unequal == 0) return {};
  const GoldNumbers* gold = comparison.gold_fp64();
  if (gold == nullptr) return comparison.differ("no fp64 gold");
  if (gold->without_gold > 0) {
    return comparison.differ(comparison.share(gold->without_gold) +
                             " differ where the fp64 gold is not finite");
  }
  const Dtype& number = number_dtype(*comparison.subject().eager->dtype);
  const double floor = number.is_floating() ? 2 * unit_roundoff(number) * gold->gold_max : 0;
  if (!(gold->compiled_max <= factor * gold->eager_max + floor)) {
    return comparison.differ(fmt::format("error against fp64 {:.3g}, eager's {:.3g}",
                                         gold->compiled_max, gold->eager_max));
  }
  if (gold->compiled_gross <= gold->gross_allowed(factor)) return {};
  return comparison.differ(fmt::format("{} of {} numbers grossly wrong against fp64, {} in eager",
                                       gold->compiled_gross, gold->looked_at, gold->eager_gross));
}

}  // namespace lockstep
