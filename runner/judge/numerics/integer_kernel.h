#pragma once

// The loops of the hot pass over integers, bools and quantized integers; included by kernels.cpp
// alone.

#include "judge/numerics/first_places.h"

namespace lockstep::kernels {

template <class Int>
LOCKSTEP_INLINE auto scan_integers(const std::byte* eager, const std::byte* compiled,
                                   std::size_t count) {
  using Unsigned = std::make_unsigned_t<Int>;
  // One-byte counters would overflow in a block.
  using Count = std::conditional_t<sizeof(Int) == 1, std::uint16_t, Unsigned>;
  Count differing = 0;
  Unsigned furthest = 0, smallest = static_cast<Unsigned>(~Unsigned{0});
  for (std::size_t i = 0; i < count; ++i) {
    const Int e = load<Int>(eager, i);
    const Int c = load<Int>(compiled, i);
    const Int high = e > c ? e : c;
    const Int low = e > c ? c : e;
    const auto apart =
        static_cast<Unsigned>(static_cast<Unsigned>(high) - static_cast<Unsigned>(low));
    const auto unsigned_e = static_cast<Unsigned>(e);
    const auto magnitude = static_cast<Unsigned>(e < 0 ? 0 - unsigned_e : unsigned_e);
    const auto below = static_cast<Unsigned>(magnitude - 1);
    differing = static_cast<Count>(differing + static_cast<Count>(e != c));
    furthest = apart > furthest ? apart : furthest;
    smallest = below < smallest ? below : smallest;
  }
  struct Found {
    Count differing;
    Unsigned furthest;  ///< greatest distance
    Unsigned
        smallest;  ///< least magnitude of eager that is not 0, less 1; all ones if there is none
  };
  return Found{differing, furthest, smallest};
}

/// Distances are exact; relative errors and explicit tolerances are in double.
template <class Int>
LOCKSTEP_INLINE void integer_kernel(const std::byte* eager, const std::byte* compiled,
                                    std::size_t count, std::int64_t position,
                                    const Tolerance& tolerance, PairNumbers& numbers) {
  using Unsigned = std::make_unsigned_t<Int>;
  numbers.all_nan = false;
  if (numbers.all_zero) {
    Unsigned any = 0;
    for (std::size_t i = 0; i < count; ++i) {
      any = static_cast<Unsigned>(any | load<Unsigned>(eager, i) | load<Unsigned>(compiled, i));
    }
    numbers.all_zero = any == 0;
  }
  if (std::memcmp(eager, compiled, count * sizeof(Int)) == 0) return;
  const auto found = scan_integers<Int>(eager, compiled, count);
  const auto e = [&](std::size_t i) { return load<Int>(eager, i); };
  const auto c = [&](std::size_t i) { return load<Int>(compiled, i); };
  const auto distance = [&](std::size_t i) {
    const auto [low, high] = std::minmax({e(i), c(i)});
    return static_cast<Unsigned>(static_cast<Unsigned>(high) - static_cast<Unsigned>(low));
  };
  const auto magnitude = [&](std::size_t i) { return std::fabs(static_cast<double>(e(i))); };
  if (numbers.first_differing < 0) {
    numbers.first_differing = find(count, position, [&](auto i) { return e(i) != c(i); });
    numbers.first_payload = numbers.first_differing;
  }
  const auto differing = static_cast<std::int64_t>(found.differing);
  numbers.payload_differing += differing;
  numbers.differing += differing;
  numbers.unequal += differing;
  if (found.furthest > numbers.max_ulp) {
    numbers.max_ulp = found.furthest;
    numbers.max_abs = static_cast<double>(found.furthest);
    numbers.max_abs_at = numbers.max_ulp_at =
        find(count, position, [&](auto i) { return distance(i) == found.furthest; });
  }
  // No element of the block has a greater relative error than the greatest distance at the smallest
  // number.
  const double most =
      static_cast<double>(found.furthest) / (static_cast<double>(found.smallest) + 1);
  if (most > numbers.max_rel) {
    for (std::size_t i = 0; i < count; ++i) {
      const double relative = e(i) == 0 ? 0 : static_cast<double>(distance(i)) / magnitude(i);
      numbers.max_rel = std::max(numbers.max_rel, relative);
    }
  }
  if (tolerance == Tolerance{}) {
    numbers.not_close += differing;
    if (numbers.first_not_close < 0) numbers.first_not_close = numbers.first_differing;
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const bool close =
        static_cast<double>(distance(i)) <= tolerance.atol + tolerance.rtol * magnitude(i);
    if (!close && numbers.first_not_close < 0) {
      numbers.first_not_close = position + static_cast<std::int64_t>(i);
    }
    numbers.not_close += !close;
  }
}

}  // namespace lockstep::kernels
