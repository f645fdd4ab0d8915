#pragma once

#include <array>

#include "judge/numerics/statistics.h"

namespace lockstep {

/// How far two tensors are from a third that is nearer to the truth (a gold), over the numbers that
/// all three have finite. The parts of complex elements count as numbers of their own.
struct GoldNumbers {
  std::int64_t numbers = 0;  ///< judged here
  /// Numbers that are NaN, +Inf, -Inf or finite where the gold, rounded to the dtype, is not so.
  std::int64_t eager_special = 0;
  std::int64_t compiled_special = 0;
  double eager_max = 0;      ///< greatest |eager - gold|
  double compiled_max = 0;   ///< greatest |compiled - gold|
  double gold_max = 0;       ///< greatest |gold|
  EightSums eager_square{};  ///< of (eager - gold)^2
  EightSums compiled_square{};
  std::int64_t compiled_max_at = -1;  ///< position
  /// Numbers for which the gold says nothing, because it is not finite there although eager is, and
  /// that differ.
  std::int64_t without_gold = 0;
  /// |compiled - gold| > |eager - gold| + n * ulp(gold), n and the dtype being the caller's.
  std::int64_t beyond_steps = 0;
  std::int64_t beyond_steps_at = -1;
  /// Numbers x (of the eager or compiled side) that are grossly wrong:
  ///   |x - g| > max(|g| / 8, atol, ulp(g)),  atol of the dtype's `close` table; integers: no ulp.
  /// Those along expanded dimensions count once here, and in `looked_at`: they share one error.
  std::int64_t eager_gross = 0;
  std::int64_t compiled_gross = 0;
  std::int64_t looked_at = 0;

  double eager_rmse() const;
  double compiled_rmse() const;

  /// How many numbers of the compiled side may be grossly wrong for no_worse(k), n of `looked_at`:
  ///
  ///   2 max(k, 1) eager_gross + min(2 + n / 8, 8) + n / 1000     (integer division)
  ///
  /// A sum that cancels is grossly wrong where the truth happens to be smaller than eight times the
  /// noise of its rounding, for eager as for compiled: both counts have one distribution (about
  /// Poisson, of mean p n), whatever the order of the sum, and k times the noise is k times the
  /// mean.  For counts of one mean, P(C > 2 E + 8) < 3e-3 whatever the mean, as C of C + E is
  /// binomial with 1/2.  Small outputs are held to less: even chains in bfloat16 have p < 3%, and
  /// P(C > 2 E + min(2 + n / 8, 8)) stays below 2e-3 with these.  The last term leaves another
  /// algorithm a thousandth of the numbers, near its zeros.  Where nothing cancels both counts are
  /// 0, and what a large number elsewhere buys in absolute error is no excuse.
  /// Errors as small as any implementation's have `noise` such numbers: where that is more than
  /// eager has, it takes eager's place.
  std::int64_t gross_allowed(double factor, std::int64_t noise = 0) const;
};

/// One pass over the walk's three views: eager, compiled, gold.  `steps` is the n of
/// `beyond_steps`.  The result depends neither on the number of threads nor on the level.
GoldNumbers compare_with_gold(const TensorWalk& walk, const Dtype& dtype, const Dtype& gold,
                              double steps, const PassOptions& options = {});

/// Writes an element's numbers (one, or the two parts of a complex one) as doubles; integers beyond
/// 2^53 round.
void decode_block(const Dtype& dtype, const std::byte* block, std::size_t count, double* numbers);

/// Greatest |value| among the finite elements of the walk's first view, of that dtype.
double greatest_magnitude(const TensorWalk& walk, const Dtype& dtype,
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
Conditioning conditioning(const TensorWalk& walk, const Dtype& dtype, const Dtype& gold,
                          double atol);

}  // namespace lockstep
