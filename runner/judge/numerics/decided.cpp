#include "judge/numerics/decided.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "judge/numerics/numbers.h"

namespace lockstep {
namespace {

/// How far an element that turns may be away, in widths of what eager and the golds span: one
/// sample each of the noise on both sides says little about its tails.
constexpr double kWidths = 4;

}  // namespace

std::optional<Decisions> decisions(const Comparison& comparison) {
  const Subject& subject = comparison.subject();
  const Dtype& dtype = *subject.eager->dtype;
  const std::array views = {subject.eager, subject.compiled, subject.fp64, subject.perturbed};
  const bool comparable = std::all_of(views.begin(), views.end(), [&](const TensorView* view) {
    return view != nullptr && view->dtype == &dtype;
  });
  if (!comparable || number_dtype(dtype).is_floating()) return std::nullopt;
  const auto bytes = static_cast<std::size_t>(dtype.bytes);
  Decisions out;
  const TensorWalk walk(views);
  walk.visit(0, walk.elements(), [&](std::int64_t position, std::int64_t count, const auto& of) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto same = [&](std::size_t view) {
        return std::memcmp(of[0] + i * bytes, of[view] + i * bytes, bytes) == 0;
      };
      if (same(1)) continue;
      std::array<double, 4> value{};
      for (std::size_t view = 0; view < value.size(); ++view)
        decode_block(dtype, of[view] + i * bytes, 1, &value[view]);
      const auto [e, c, g, p] = value;
      const double width = std::max({e, g, p}) - std::min({e, g, p});
      const bool decided = same(2) && same(3);
      if (!decided && std::fabs(c - e) <= kWidths * width) {
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
