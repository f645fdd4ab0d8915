#include "judge/numerics/decided.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace lockstep {
namespace {

/// How far an element that turns may be away, in widths of what eager and the golds span: one
/// sample each of the noise on both sides says little about its tails.
constexpr double kWidths = 4;

}  // namespace

std::optional<Decisions> decisions(const Comparison& comparison) {
  const Subject& subject = comparison.subject();
  const Dtype& dtype = *subject.eager->dtype;
  if (subject.fp64 == nullptr || subject.perturbed == nullptr) return std::nullopt;
  std::vector<const TensorView*> views = {subject.eager, subject.compiled, subject.fp64,
                                          subject.perturbed};
  if (subject.stepwise != nullptr) views.push_back(subject.stepwise);
  if (std::any_of(views.begin(), views.end(),
                  [&](const TensorView* v) { return v->dtype != &dtype; }))
    return std::nullopt;
  const auto bytes = static_cast<std::size_t>(dtype.bytes);
  Decisions out;
  const TensorWalk walk(views);
  walk.visit(0, walk.elements(), [&](std::int64_t position, std::int64_t count, const auto& of) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto at = [&](std::size_t view) { return of[view] + i * bytes; };
      if (std::memcmp(at(0), at(1), bytes) == 0) continue;
      double least = HUGE_VAL, greatest = -HUGE_VAL;
      bool agree = true;
      std::array<double, 2> sides{};
      for (std::size_t view = 0; view < views.size(); ++view) {
        double value = 0;
        decode_block(dtype, at(view), 1, &value);
        if (view < 2) sides[view] = value;
        if (view == 1) continue;
        least = std::min(least, value);
        greatest = std::max(greatest, value);
        agree = agree && std::memcmp(at(0), at(view), bytes) == 0;
      }
      if (!agree && std::fabs(sides[1] - sides[0]) <= kWidths * (greatest - least)) {
        ++out.turning;
        continue;
      }
      ++out.beyond;
      if (out.beyond_at < 0) out.beyond_at = position + static_cast<std::int64_t>(i);
    }
  });
  out.turning *= walk.multiplicity();
  out.beyond *= walk.multiplicity();
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
