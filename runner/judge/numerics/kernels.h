#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace lockstep {

/// |compiled - eager| <= atol + rtol * |eager|.
struct Tolerance {
  double rtol = 0;
  double atol = 0;

  bool operator==(const Tolerance&) const = default;
};

/// In which way two elements differ, in the order in which it is asked: the first that fits.
enum class DifferenceClass : std::uint8_t {
  eager_nan,
  compiled_nan,
  eager_infinity,
  compiled_infinity,
  infinity_sign,
  zero_sign,
  subnormal,
  last_bits,
  value,
  none
};

/// As far apart as `last_bits` goes, which is as far as grade `ulp4` allows.
inline constexpr std::uint64_t kLastBits = 4;

/// What one pass over two tensors finds.  Differences are of numbers: |compiled - eager| where both
/// are finite, rounded to float32 for dtypes no wider than that.  Positions are those of the walk,
/// -1 for none.
struct PairNumbers {
  std::int64_t payload_differing = 0;  ///< other bits, NaN payloads included
  std::int64_t differing = 0;          ///< other bits; a NaN equals a NaN
  std::int64_t unequal = 0;            ///< other values: -0 equals +0, a NaN equals a NaN
  std::int64_t nonfinite = 0;  ///< NaN, +Inf or -Inf where the other side has something else
  std::int64_t not_close = 0;  ///< outside the tolerance
  double max_abs = 0;
  double max_rel = 0;  ///< of eager's magnitude, where that is not 0
  std::uint64_t max_ulp = 0;
  std::int64_t max_abs_at = -1;
  std::int64_t max_ulp_at = -1;
  std::int64_t first_payload = -1;
  std::int64_t first_differing = -1;
  std::int64_t first_nonfinite = -1;
  std::int64_t first_not_close = -1;
  /// Whether all elements so far are zeros / NaNs, on both sides.
  bool all_zero = true;
  bool all_nan = true;
  /// Of floating and complex dtypes: elements by the way in which they differ (not `none`), a
  /// complex one by its worst part;
  std::array<std::int64_t, static_cast<std::size_t>(DifferenceClass::none)> classes{};
  /// and elements that are 1, 2, 3 to 4, 5 to 8, … ulp apart, as OutputComparison::ulp_histogram.
  std::array<std::int64_t, 65> ulps{};

  std::int64_t& of(DifferenceClass each) { return classes[static_cast<std::size_t>(each)]; }
  std::int64_t of(DifferenceClass each) const { return classes[static_cast<std::size_t>(each)]; }

  /// Adds what was found in a later part of the walk.
  void merge(const PairNumbers& later);
};

/// Compares `count` (at most TensorWalk::kBlock) elements that lie side by side and adds what it
/// finds; `position` is that of the first.
using PairKernel = void (*)(const Dtype& dtype, const std::byte* eager, const std::byte* compiled,
                            std::size_t count, std::int64_t position, const Tolerance& tolerance,
                            PairNumbers& numbers);

/// What a processor can do: a target of Highway each, compiled from the same source.
enum class VectorLevel { baseline, sse4, avx2, avx512 };

/// Levels that this machine can run, baseline first.
std::span<const VectorLevel> vector_levels();

/// The kernel for a dtype.
PairKernel pair_kernel(const Dtype& dtype, VectorLevel level);

/// Writes `count` numbers of a floating dtype as doubles.
using Decoder = void (*)(const std::byte* block, std::size_t count, double* numbers);

/// nullptr for one-byte dtypes.
Decoder decoder(const Dtype& dtype, VectorLevel level);

/// Numbers of both sides and of their gold; a kernel writes the errors of both sides, too.
struct GoldBlock {
  const double *eager, *compiled, *gold;
  std::size_t count;
  std::size_t first;  ///< index of the first of them in the whole
  double *eager_error, *compiled_error;
};

/// A sum in eight parts, each of the numbers whose index leaves that remainder: it depends neither
/// on the width of vectors nor on where blocks end.
using EightSums = std::array<double, 8>;

/// What blocks tell.
struct GoldSums {
  EightSums eager_square{}, compiled_square{};           ///< of the errors
  double eager_max = 0, compiled_max = 0, gold_max = 0;  ///< greatest magnitudes
  std::size_t further = 0;  ///< numbers from which compiled is further than eager
  std::size_t gross = 0;    ///< numbers of which an error exceeds an eighth
};

/// Adds a block; false, and nothing is added, where a number of it is not finite.
using GoldKernel = bool (*)(const GoldBlock& block, GoldSums& sums);
GoldKernel gold_kernel(VectorLevel level);

/// Compares elements of a floating or complex dtype one by one: plain code, for what is rare.
void compare_each(const Dtype& dtype, const std::byte* eager, const std::byte* compiled,
                  std::size_t count, std::int64_t position, const Tolerance& tolerance,
                  PairNumbers& numbers);

/// Of one complex element, its parts finite: its error, if that is new, and whether it is close.
/// What is counted of others it leaves alone.
void measure_complex(const std::array<double, 2>& eager, const std::array<double, 2>& compiled,
                     std::int64_t position, const Tolerance& tolerance, PairNumbers& numbers);

}  // namespace lockstep
