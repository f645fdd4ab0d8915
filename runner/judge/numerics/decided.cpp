#include "judge/numerics/decided.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "judge/numerics/noise.h"

namespace lockstep {
namespace {

/// An element that differs, and what eager, the gold and its samples say of it.
struct Turning {
  std::int64_t index;
  double compiled;
  double least, most;
  bool decided = true;  ///< so far all say the same
};

}  // namespace

std::optional<Decisions> decisions(const Comparison& comparison) {
  const Subject& subject = comparison.subject();
  const Dtype& dtype = *subject.eager->dtype;
  if (number_dtype(dtype).is_floating() || subject.golds[Gold::fp64] == nullptr ||
      subject.golds[Gold::fp64]->dtype != &dtype || subject.samples[Gold::fp64_noise].empty())
    return std::nullopt;
  std::vector<Turning> turning;
  side_by_side(*subject.eager, *subject.compiled,
               [&](std::int64_t index, double e, double c, bool same) {
                 if (!same) turning.push_back({index, c, e, e});
               });
  std::vector<const TensorView*> golds = subject.samples[Gold::fp64_noise];
  golds.push_back(subject.golds[Gold::fp64]);
  for (const TensorView* gold : golds) {
    look_up(turning, *subject.eager, *gold, [](Turning& each, double g, bool same) {
      each.decided = each.decided && same;
      each.least = std::min(each.least, g);
      each.most = std::max(each.most, g);
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
    if (!found) return comparison.of_all(unequal) + " differ" + comparison.worst_place();
    return fmt::format("{} differ where the golds agree with eager, or by more than they do{}",
                       comparison.of_all(found->beyond), comparison.worst_place());
  });
}

}  // namespace lockstep
