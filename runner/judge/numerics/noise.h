#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "judge/numerics/gold.h"
#include "judge/numerics/numbers.h"

// Samples of noise: the same program executed with errors as small as any implementation's
// (docs/design/protocol.md, fp64_noise and stepwise_noise).  They have eager's dtype and shape.
namespace lockstep {

/// How far errors as small as any implementation's take a result from a gold: of several samples,
/// the most of each.
struct NoiseNumbers {
  double max = 0;           ///< greatest |sample - gold|
  std::int64_t gross = 0;   ///< numbers that are grossly wrong, as in GoldNumbers
  std::int64_t beyond = 0;  ///< |sample - gold| > n * ulp(gold)
};

/// How many times a sample's an error may be.  Rounding to the nearest errs half as far as rounding
/// by chance (in the root of the mean square): for normal errors x of deviation 1 and eight samples
/// y of deviation 2, P(|x| > 2 max|y|) < E[(|x| / 5)^8] = 105 / 5^8 = 3e-4.
constexpr double kNoiseFactor = 2;

/// Of samples of that dtype, in passes over each, a gold, and `beside` which the walk takes for
/// eager.  The gold's dtype is its own.
NoiseNumbers measure_noise(std::span<const TensorView* const> samples, const TensorView& beside,
                           const TensorView& gold, double steps, const PassOptions& options = {});

/// How many numbers are of another kind (NaN, +Inf, -Inf, finite) than eager's, and than those of
/// all others, rounded to the dtype: golds, and samples of their noise.
std::int64_t unexplained_specials(const TensorView& eager, const TensorView& compiled,
                                  std::span<const TensorView* const> others);

/// Calls `visit(i, x, y, same)` for the numbers of two views of one shape, both complex or neither:
/// i is the flat index (of complex elements, twice that, and the parts one by one), `same` whether
/// dtypes and bytes are the same.
template <class Visit>
void side_by_side(const TensorView& a, const TensorView& b, Visit&& visit) {
  const std::array bytes = {static_cast<std::size_t>(a.dtype->bytes),
                            static_cast<std::size_t>(b.dtype->bytes)};
  const std::size_t parts = a.dtype->is_complex() ? 2 : 1;
  const std::array views = {&a, &b};
  const TensorWalk walk(views, TensorWalk::Order::index);
  walk.visit(0, walk.elements(), [&](std::int64_t position, std::int64_t count, const auto& of) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      std::array<double, 2> x{}, y{};
      decode_block(*a.dtype, of[0] + i * bytes[0], 1, x.data());
      decode_block(*b.dtype, of[1] + i * bytes[1], 1, y.data());
      const bool same = a.dtype == b.dtype &&
                        std::memcmp(of[0] + i * bytes[0], of[1] + i * bytes[1], bytes[0]) == 0;
      for (std::size_t part = 0; part < parts; ++part) {
        const auto index = (static_cast<std::size_t>(position) + i) * parts + part;
        visit(static_cast<std::int64_t>(index), x[part], y[part], same);
      }
    }
  });
}

/// Calls `visit(item, y, same)` for every item of a list in the order of its `index`, y being the
/// number that `view` has there; the rest as side_by_side.
template <class Item, class Visit>
void look_up(std::vector<Item>& items, const TensorView& eager, const TensorView& view,
             Visit&& visit) {
  auto next = items.begin();
  side_by_side(eager, view, [&](std::int64_t index, double, double y, bool same) {
    if (next != items.end() && next->index == index) visit(*next++, y, same);
  });
}

}  // namespace lockstep
