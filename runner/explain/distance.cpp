#include "explain/distance.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "judge/numerics/gold.h"
#include "judge/numerics/numbers.h"
#include "judge/numerics/walk.h"

namespace lockstep {

Distance distance(const TensorView& a, const TensorView& b) {
  if (a.shape != b.shape || a.dtype != b.dtype || a.dtype == nullptr) return {HUGE_VAL, 0};
  const Dtype& dtype = *a.dtype;
  const bool decodes = number_dtype(dtype).kind != NumberKind::opaque;
  const std::array<const TensorView*, 2> views = {&a, &b};
  const TensorWalk walk(views);
  Distance found;
  std::array<double, static_cast<std::size_t>(TensorWalk::kBlock) * 2> x{}, y{};
  walk.visit(0, walk.elements(), [&](std::int64_t, std::int64_t count, const auto& blocks) {
    const auto elements = static_cast<std::size_t>(count);
    if (!decodes) {
      for (std::size_t i = 0; i < elements; ++i) {
        const std::size_t byte = i * static_cast<std::size_t>(dtype.bytes);
        if (!same_element(dtype, blocks[0] + byte, blocks[1] + byte)) found.greatest = HUGE_VAL;
      }
      return;
    }
    decode_block(dtype, blocks[0], elements, x.data());
    decode_block(dtype, blocks[1], elements, y.data());
    for (std::size_t i = 0; i < elements * (dtype.is_complex() ? 2 : 1); ++i) {
      if (std::isfinite(x[i])) found.scale = std::max(found.scale, std::fabs(x[i]));
      const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
      if (same) continue;
      const double apart = std::fabs(y[i] - x[i]);
      found.greatest = std::max(found.greatest, std::isnan(apart) ? HUGE_VAL : apart);
    }
  });
  return found;
}

}  // namespace lockstep
