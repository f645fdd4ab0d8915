#include "judge/numerics/noise.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep {
namespace {

/// What masks tell apart: two numbers of which one is not finite.
bool same_class(double x, double y) {
  if (std::isfinite(x) || std::isfinite(y)) return std::isfinite(x) && std::isfinite(y);
  return std::isnan(x) ? std::isnan(y) : x == y;
}

}  // namespace

NoiseNumbers measure_noise(std::span<const TensorView* const> samples, const TensorView& beside,
                           const TensorView& gold, double steps, const PassOptions& options) {
  NoiseNumbers most;
  for (const TensorView* sample : samples) {
    const std::array views = {&beside, sample, &gold};
    const GoldNumbers numbers =
        compare_with_gold(TensorWalk(views), *beside.dtype, *gold.dtype, steps, options);
    most.max = std::max(most.max, numbers.compiled_max);
    most.gross = std::max(most.gross, numbers.compiled_gross);
    most.beyond = std::max(most.beyond, numbers.beyond_steps);
  }
  return most;
}

std::int64_t unexplained_specials(const TensorView& eager, const TensorView& compiled,
                                  std::span<const TensorView* const> others) {
  struct Special {
    std::int64_t index;
    double compiled;
    bool shown = false;
  };
  std::vector<Special> specials;
  side_by_side(eager, compiled, [&](std::int64_t index, double e, double c, bool) {
    if (!same_class(e, c)) specials.push_back({index, c});
  });
  const Dtype& number = number_dtype(*eager.dtype);
  for (const TensorView* other : others) {
    look_up(specials, eager, *other, [&](Special& special, double x, bool) {
      if (number.is_floating()) x = decode_float(number, encode_float(number, x));
      special.shown = special.shown || same_class(special.compiled, x);
    });
  }
  return std::count_if(specials.begin(), specials.end(),
                       [](const Special& special) { return !special.shown; });
}

}  // namespace lockstep
