#include "judge/numerics/decided.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "judge/numerics/numbers.h"

namespace lockstep {
namespace {

/// An element that differs, and what eager, the gold and its samples say of it.
struct Turning {
  std::int64_t position;
  double compiled;
  double least, most;
  bool decided = true;  ///< so far all say the same
};

/// Calls `visit(position, value, same)` for every element of a view: its number, and whether it has
/// eager's bytes.
template <class Visit>
void beside_eager(const TensorView& eager, const TensorView& view, Visit&& visit) {
  const Dtype& dtype = *eager.dtype;
  const auto bytes = static_cast<std::size_t>(dtype.bytes);
  const std::array views = {&eager, &view};
  const TensorWalk walk(views, TensorWalk::Order::index);
  walk.visit(0, walk.elements(), [&](std::int64_t position, std::int64_t count, const auto& of) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      std::array<double, 2> value{};
      for (std::size_t side = 0; side < 2; ++side)
        decode_block(dtype, of[side] + i * bytes, 1, &value[side]);
      const bool same = std::memcmp(of[0] + i * bytes, of[1] + i * bytes, bytes) == 0;
      visit(position + static_cast<std::int64_t>(i), value[0], value[1], same);
    }
  });
}

}  // namespace

std::optional<Decisions> decisions(const Comparison& comparison) {
  const Subject& subject = comparison.subject();
  const Dtype& dtype = *subject.eager->dtype;
  if (number_dtype(dtype).is_floating() || subject.fp64 == nullptr ||
      subject.fp64->dtype != &dtype || subject.fp64_noise.empty())
    return std::nullopt;
  std::vector<Turning> turning;
  beside_eager(*subject.eager, *subject.compiled,
               [&](std::int64_t position, double e, double c, bool same) {
                 if (!same) turning.push_back({position, c, e, e});
               });
  std::vector<const TensorView*> golds = subject.fp64_noise;
  golds.push_back(subject.fp64);
  for (const TensorView* gold : golds) {
    auto next = turning.begin();
    beside_eager(*subject.eager, *gold, [&](std::int64_t position, double, double g, bool same) {
      if (next == turning.end() || next->position != position) return;
      next->decided = next->decided && same;
      next->least = std::min(next->least, g);
      next->most = std::max(next->most, g);
      ++next;
    });
  }
  Decisions out;
  for (const Turning& each : turning) {
    const double width = kNoiseFactor * (each.most - each.least);
    const double away = std::max({0.0, each.least - each.compiled, each.compiled - each.most});
    if (!each.decided && away <= width) {
      ++out.turning;
      continue;
    }
    ++out.beyond;
  }
  return out;
}

CheckResult check_decided(Comparison& comparison) {
  const std::int64_t unequal = comparison.pair().unequal;
  const auto found = unequal == 0 ? std::nullopt : decisions(comparison);
  return leaf(Quantity::unequal, found ? found->beyond : unequal, 0, [&] {
    if (!found) return comparison.share(unequal) + " differ" + comparison.worst_place();
    return fmt::format("{} differ where the golds agree with eager, or by more than they do{}",
                       comparison.share(found->beyond), comparison.worst_place());
  });
}

}  // namespace lockstep
