#pragma once

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

  /// Adds what was found in a later part of the walk.
  void merge(const PairNumbers& later);
};

/// Compares `count` (at most TensorWalk::kBlock) elements that lie side by side and adds what it
/// finds; `position` is that of the first.
using PairKernel = void (*)(const Dtype& dtype, const std::byte* eager, const std::byte* compiled,
                            std::size_t count, std::int64_t position, const Tolerance& tolerance,
                            PairNumbers& numbers);

/// What a processor can do; each level is compiled from the same source.
enum class VectorLevel { baseline, avx2, avx512 };

/// Levels that this machine can run, baseline first.
std::span<const VectorLevel> vector_levels();

/// The kernel for a dtype, or nullptr where scalar code does it (complex): see statistics.cpp.
PairKernel pair_kernel(const Dtype& dtype, VectorLevel level);

/// Compares complex elements, one by one.
void complex_kernel(const Dtype& dtype, const std::byte* eager, const std::byte* compiled,
                    std::size_t count, std::int64_t position, const Tolerance& tolerance,
                    PairNumbers& numbers);

}  // namespace lockstep
