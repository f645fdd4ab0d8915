#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "judge/numerics/gold.h"
#include "judge/numerics/statistics.h"
#include "policies/policy.h"
#include "verdict/verdict.h"

namespace lockstep {

/// One output on both sides, and what is known of the truth.  Dtype and shape of `eager` and
/// `compiled` are equal; golds have the shape too.  Null: not there.
struct Subject {
  const TensorView* eager = nullptr;
  const TensorView* compiled = nullptr;
  const TensorView* fp64 = nullptr;
  const TensorView* stepwise = nullptr;
  const TensorView* perturbed = nullptr;
  /// A tensor of the same call by name, first among the outputs, then among the inputs; nullptr if
  /// there is none.
  std::function<const TensorView*(std::string_view name)> eager_tensor, compiled_tensor;
};

/// Whether a rule holds, and if not, why: one phrase with numbers.
struct CheckResult {
  Status status = Status::conform;
  std::string reason;

  bool holds() const { return status == Status::conform; }
};

/// Two tensors under comparison.  Passes over the memory are made when a rule first needs them,
/// each once.
///
/// Formulas (e eager, c compiled, g gold; every rule but `metadata`, `statistical` and
/// `same_upstream` demands equal NaN, +Inf and -Inf positions first, and answers
/// nonfinite_differs):
///
///  bits              every element has the same bits; any NaN equals any NaN
///  bits_strict       every element has the same bits
///  equal, exact      c == e for every element; a NaN equals a NaN (a bool is its byte)
///  ulp(n)            |ordered(c) - ordered(e)| <= n (numbers.h); the parts of complex elements
///                    one by one; integers: |c - e| <= n
///  close             |c - e| <= atol + rtol |e|, as torch.testing.assert_close with equal_nan
///                    computes it (close_tolerance)
///  close(k=K)        the same with atol + 16 sqrt(K) u max|e|, u the unit roundoff (at least
///                    float32's): a sum of K terms in another order errs by at most
///                    lambda sqrt(K) u times the sum of magnitudes on each side with probability
///                    1 - 2 exp(-lambda^2 / 2) (Higham & Mary 2019, thm 2.4), lambda = 8,
///                    magnitudes estimated by max|e|
///  same, same_upstream   see same.h
///  no_worse(k)       max|c - g| <= k max|e - g| + eps max|g|, eps = 2u of the dtype, 0 for
///                    integers; where g is not finite, c == e; and of the numbers with
///                    |c - g| > max(|g| / 8, atol, ulp(g)) no more than gold.h allows: without
///                    that, one large element buys every small one its absolute error
///  stepwise(n)       |c - g| <= |e - g| + n ulp(g) for every element, g the stepwise gold;
///                    integers have no ulp here; where g is not finite, c == e
///  index_equivalent  see indices.h
///  statistical(p)    see statistical.h
///  any_of, all_of    of the rules inside
class Comparison {
 public:
  explicit Comparison(Subject subject, PassOptions options = {});

  CheckResult check(const Policy& policy);

  /// The strictest rung of the ladder that holds.  `no_worse1` needs the fp64 gold; without it the
  /// rung is skipped.
  Grade grade();

  const PairNumbers& pair(const Tolerance& tolerance);
  const PairNumbers& pair() { return pair(table_); }
  /// nullptr without the gold.
  const GoldNumbers* gold_fp64();
  const GoldNumbers* gold_stepwise(double steps);
  /// Nothing without the gold and the perturbed one.
  std::optional<Conditioning> conditions() const;
  const TensorWalk& walk() const { return walk_; }
  const Subject& subject() const { return subject_; }

  /// ", greatest |Δ| 7.45e-4 at [1, 3]: eager 0.14282227, compiled 0.14285715".
  std::string worst_place();

  /// The numbers, for the verdict; status, reason, policy, name and grade are the caller's.
  OutputComparison numbers();

 private:
  CheckResult check_one(const Policy& policy);
  CheckResult any_of(const Policy& policy);
  CheckResult close(const Policy& policy);
  CheckResult no_worse(double factor);
  CheckResult stepwise(double steps);
  CheckResult differ(std::string what);
  std::int64_t worst_position();
  std::string element(const TensorView& view, std::int64_t position, bool bits) const;

  Subject subject_;
  PassOptions options_;
  const Dtype& dtype_;
  TensorWalk walk_;
  Tolerance table_;
  std::vector<std::pair<Tolerance, PairNumbers>> passes_;
  std::optional<GoldNumbers> fp64_;
  std::vector<std::pair<double, GoldNumbers>> stepwise_;
};

/// The table of torch.testing.assert_close (torch/testing/_comparison.py, _DTYPE_PRECISIONS); 0, 0
/// for what is not in it.
Tolerance close_tolerance(const Dtype& dtype);

/// "eager", "compiled" or "both": who is nearer to the truth by the errors of both.  Less than a
/// tenth is no difference that a sentence in a report should rest on.
std::string_view side_by_errors(double eager, double compiled);

/// Which side is nearer to the fp64 gold, for one output: "compiled", "eager", "both" or
/// "ill-conditioned", and the sentence that says so.  Empty without a gold, where nothing differs,
/// and where eager computed in double what the gold computes.
struct Nearer {
  std::string side;
  std::string sentence;
};
Nearer nearer_side(Comparison& comparison);

}  // namespace lockstep
