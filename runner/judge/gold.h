#pragma once

#include <array>

#include "judge/statistics.h"

namespace lockstep {

/// How far two tensors are from a third that is nearer to the truth (a gold), over the numbers that
/// all three have finite. The parts of complex elements count as numbers of their own.
struct GoldNumbers {
  std::int64_t numbers = 0;  ///< judged here
  double eager_max = 0;      ///< greatest |eager - gold|
  double compiled_max = 0;   ///< greatest |compiled - gold|
  double gold_max = 0;       ///< greatest |gold|
  double eager_square = 0;   ///< sum of (eager - gold)^2
  double compiled_square = 0;
  std::int64_t compiled_max_at = -1;  ///< position
  /// Numbers for which the gold says nothing, because it is not finite there although eager is, and
  /// that differ.
  std::int64_t without_gold = 0;
  /// |compiled - gold| > |eager - gold| + n * ulp(gold), n and the dtype being the caller's.
  std::int64_t beyond_steps = 0;
  std::int64_t beyond_steps_at = -1;

  double eager_rmse() const;
  double compiled_rmse() const;
};

/// One pass over the walk's three views: eager, compiled, gold.  `steps` is the n of
/// `beyond_steps`.
GoldNumbers compare_with_gold(const JointWalk& walk, const Dtype& dtype, const Dtype& gold,
                              double steps, const PassOptions& options = {});

/// Writes an element's numbers (one, or the two parts of a complex one) as doubles; integers beyond
/// 2^53 round.
void decode_block(const Dtype& dtype, const std::byte* block, std::size_t count, double* numbers);

/// Greatest |value| among the finite elements of the walk's first view, of that dtype.
double greatest_magnitude(const JointWalk& walk, const Dtype& dtype,
                          const PassOptions& options = {});

/// Greatest |a - b| where both are finite; infinity where only one is.  The shapes are equal.
double greatest_distance(const TensorView& a, const TensorView& b);

}  // namespace lockstep
