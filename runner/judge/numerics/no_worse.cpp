#include "judge/numerics/no_worse.h"

#include <fmt/format.h>

#include "judge/numerics/numbers.h"

namespace lockstep {

CheckResult check_no_worse(Comparison& comparison, double factor) {
  const std::int64_t unequal = comparison.pair().unequal;
  if (unequal == 0) return leaf(Quantity::unequal, 0, 0, [] { return std::string(); });
  const GoldNumbers* gold = comparison.gold_fp64();
  if (gold == nullptr) {
    return leaf(Quantity::without_gold, unequal, 0, [&] {
      return "no fp64 gold" + because(comparison.subject().lost[Gold::fp64]) +
             comparison.worst_place();
    });
  }
  if (gold->without_gold > 0) {
    return leaf(Quantity::without_gold, gold->without_gold, 0, [&] {
      return comparison.of_all(gold->without_gold) + " differ where the fp64 gold is not finite" +
             comparison.worst_place();
    });
  }
  const Dtype& number = number_dtype(*comparison.subject().eager->dtype);
  const double floor = number.is_floating() ? 2 * unit_roundoff(number) * gold->gold_max : 0;
  const NoiseNumbers& noise = comparison.noise_fp64();
  const double error = std::max(gold->eager_max, kNoiseFactor * noise.max);
  CheckResult result = leaf(Quantity::error, gold->compiled_max, factor * error + floor, [&] {
    const std::string of_noise =
        noise.max > 0 ? fmt::format(", that of rounding {:.3g}", noise.max) : "";
    return fmt::format("error against fp64 {:.3g}, eager's {:.3g}{}{}", gold->compiled_max,
                       gold->eager_max, of_noise, comparison.worst_place());
  });
  const std::int64_t allowed = gold->gross_allowed(factor, noise.gross);
  if (!result.holds() || gold->compiled_gross <= allowed) return result;
  return leaf(Quantity::gross, gold->compiled_gross, allowed, [&] {
    return fmt::format("{} of {} numbers grossly wrong against fp64, {} in eager{}",
                       gold->compiled_gross, gold->looked_at, gold->eager_gross,
                       comparison.worst_place());
  });
}

}  // namespace lockstep
