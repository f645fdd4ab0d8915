#pragma once

// Where in a block is what the loops have found?  Asked rarely: for the first of a kind, and for a
// new greatest. Included by kernels.cpp alone.

#include "judge/numerics/float_kernel.h"

namespace lockstep::kernels {

/// First i of a block for which `is_it(i)`, as a position.
template <class Predicate>
std::int64_t find(std::size_t count, std::int64_t position, Predicate is_it) {
  for (std::size_t i = 0; i < count; ++i) {
    if (is_it(i)) return position + static_cast<std::int64_t>(i);
  }
  return -1;
}

/// The elements of a block, one by one.
template <class Format>
class Elements {
 public:
  using Float = typename Format::Float;
  using Rounding = typename Format::Rounding;

  Elements(const std::byte* eager, const std::byte* compiled, Float rtol, Float atol)
      : eager_(eager), compiled_(compiled), rtol_(rtol), atol_(atol) {}

  Float eager(std::size_t i) const { return std::bit_cast<Float>(widened<Format>(eager_, i)); }
  Float compiled(std::size_t i) const {
    return std::bit_cast<Float>(widened<Format>(compiled_, i));
  }
  bool finite(std::size_t i) const { return std::isfinite(eager(i)) && std::isfinite(compiled(i)); }
  bool differs(std::size_t i) const {
    return widened<Format>(eager_, i) != widened<Format>(compiled_, i) &&
           !(std::isnan(eager(i)) && std::isnan(compiled(i)));
  }
  Float error(std::size_t i) const { return std::fabs(compiled(i) - eager(i)); }
  bool close(std::size_t i) const {
    if (!differs(i) || eager(i) == compiled(i)) return true;
    if (!finite(i)) return false;
    return Rounding::round(error(i)) <=
           Rounding::round(atol_ + Rounding::round(rtol_ * std::fabs(eager(i))));
  }

 private:
  const std::byte* eager_;
  const std::byte* compiled_;
  Float rtol_, atol_;
};

/// Notes the places of what is new to `numbers`, whose counts are already those with the block.
template <class Format>
void note_places(const Elements<Format>& elements, std::size_t count, std::int64_t position,
                 typename Format::Float max_abs, PairNumbers& numbers) {
  if (numbers.first_differing < 0 && numbers.differing > 0) {
    numbers.first_differing = find(count, position, [&](auto i) { return elements.differs(i); });
  }
  if (numbers.first_nonfinite < 0 && numbers.nonfinite > 0) {
    numbers.first_nonfinite =
        find(count, position, [&](auto i) { return elements.differs(i) && !elements.finite(i); });
  }
  if (numbers.first_not_close < 0 && numbers.not_close > 0) {
    numbers.first_not_close = find(count, position, [&](auto i) { return !elements.close(i); });
  }
  if (static_cast<double>(max_abs) > numbers.max_abs) {
    numbers.max_abs = static_cast<double>(max_abs);
    numbers.max_abs_at = find(count, position, [&](auto i) {
      return elements.finite(i) && elements.error(i) == max_abs;
    });
  }
}

}  // namespace lockstep::kernels
