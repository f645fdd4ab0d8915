#pragma once

#include <array>

#include "judge/statistics.h"

namespace lockstep {

/// How far two tensors are from a third that is nearer to the truth (a gold), over the numbers that
/// all three have finite. The parts of complex elements count as numbers of their own.
struct GoldNumbers {
  std::int64_t numbers = 0;  ///< judged here
  /// Numbers that are NaN, +Inf, -Inf or finite where the gold, rounded to the dtype, is not so.
  std::int64_t eager_special = 0;
  std::int64_t compiled_special = 0;
  double eager_max = 0;     ///< greatest |eager - gold|
  double compiled_max = 0;  ///< greatest |compiled - gold|
  double gold_max = 0;      ///< greatest |gold|
  double eager_square = 0;  ///< sum of (eager - gold)^2
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

/// How far a gold moves when its inputs move by one ulp, beside how far two results are apart. Both
/// are in units of atol + 16 ulp of eager, the greatest over all numbers: a function that moves by
/// more than one unit loses four bits or more of its inputs' accuracy, whoever computes it.
struct Conditioning {
  double moved = 0;
  double apart = 0;
  /// NaN and infinities that only one side has, where the gold does not change so.
  std::int64_t unexplained = 0;

  bool ill() const { return unexplained == 0 && moved > 1 && moved > apart; }
};

/// One pass over the walk's four views: eager, compiled, gold, perturbed gold.
Conditioning conditioning(const JointWalk& walk, const Dtype& dtype, const Dtype& gold,
                          double atol);

}  // namespace lockstep
