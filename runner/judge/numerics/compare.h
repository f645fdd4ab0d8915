#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "judge/numerics/noise.h"
#include "judge/numerics/statistics.h"
#include "policies/policy.h"
#include "verdict/verdict.h"
#include "wire/observation.h"

namespace lockstep {

/// One output on both sides, and what is known of the truth.  Dtype and shape of `eager` and
/// `compiled` are equal; golds have the shape too.  Null: not there.
struct Subject {
  const TensorView* eager = nullptr;
  const TensorView* compiled = nullptr;
  PerGold<const TensorView*> golds;
  /// Of those golds that are samples, each of eager's dtype.
  PerGold<std::vector<const TensorView*>> samples;
  /// Where the fp64 gold comes from, if it says so; null: torch's float64 kernels, in any number of
  /// steps.
  const ValueOrigin* origin = nullptr;
  PerGold<std::string_view> lost;  ///< why such a gold is not there; empty: unknown
  /// A tensor of the same call by name, first among the outputs, then among the inputs; nullptr if
  /// there is none.
  std::function<const TensorView*(std::string_view name)> eager_tensor, compiled_tensor;
};

/// Whether a rule holds, and if not, why: one phrase with numbers.
struct CheckResult {
  Status status = Status::conform;
  std::string reason;
  std::vector<Measurement> leaves;  ///< that were asked, in order

  bool holds() const { return status == Status::conform; }
};

/// What a leaf answers that allows `limit`: the numbers alone decide.  `why` makes the reason where
/// it does not hold; the leaf's policy is Comparison::check's to fill in.
template <class Number, class Limit, class Why>
CheckResult leaf(Quantity of, Number measured, Limit limit, Why&& why) {
  Measurement leaf{"", of, static_cast<double>(measured), static_cast<double>(limit), false};
  leaf.ok = leaf.measured <= leaf.limit;
  CheckResult result{status_of(leaf), "", {leaf}};
  if (!result.holds()) result.reason = why();
  return result;
}

/// Two tensors under comparison, e (eager) and c (compiled) in the formulas of the checks, g being
/// a gold.  Passes over the memory are made when a rule first needs them, each once.
class Comparison {
 public:
  explicit Comparison(Subject subject, PassOptions options = {});

  /// Whether the policy holds (checks.cpp).  One that judges elements demands equal NaN, +Inf and
  /// -Inf positions first, and answers nonfinite_diverges.
  CheckResult check(const Policy& policy);

  /// The grades below `bits`, strictest first, up to the first that holds.  Empty
  /// where nothing differs, and where NaN or infinity or integers do, which no layer lets pass.
  /// Without the fp64 gold there is no layer `no_worse1`.
  std::vector<Measurement> grading();
  /// The strictest layer that holds.
  Grade grade() { return grade_of(pair().differing, grading()); }

  const PairNumbers& pair(const Tolerance& tolerance);
  const PairNumbers& pair() { return pair(table_); }
  /// nullptr without the gold.
  const GoldNumbers* gold_fp64();
  const GoldNumbers* gold_stepwise(double steps);
  /// All zero without the gold or its samples.  Of the stepwise gold eager is one of these.
  const NoiseNumbers& noise_fp64();
  NoiseNumbers noise_stepwise(double steps) const;
  /// Nothing without the gold and the perturbed one.
  std::optional<Conditioning> conditions() const;
  const TensorWalk& walk() const { return walk_; }
  const Subject& subject() const { return subject_; }
  const PassOptions& options() const { return options_; }

  /// "17 of 20 elements".
  std::string of_all(std::int64_t some) const;
  /// ", greatest |Δ| 7.45e-4 at [1, 3]: eager 0.14282227, compiled 0.14285715".
  std::string worst_place();

  /// Adds the numbers to what the verdict says of an output: `elements` and all that is measured,
  /// whatever the policy.
  void add_numbers(OutputComparison& output);

 private:
  /// NaN and infinities that one side has and the other has not, and that neither the gold that
  /// the rule reads nor a sample of its noise explains: what rounds to the other side of a pole.
  std::int64_t unexplained(const Policy& rule);
  std::int64_t worst_position();
  std::string element(const TensorView& view, std::int64_t position, bool bits) const;

  Subject subject_;
  PassOptions options_;
  const Dtype& dtype_;
  TensorWalk walk_;
  Tolerance table_;
  std::vector<std::pair<Tolerance, PairNumbers>> passes_;
  std::optional<GoldNumbers> fp64_;
  std::optional<NoiseNumbers> fp64_noise_;
  std::vector<std::pair<double, GoldNumbers>> stepwise_;
};

/// "eager", "compiled" or "both": who is nearer to the truth by the errors of both.  Less than a
/// tenth is no difference that a sentence in a report should rest on.
Nearer side_by_errors(double eager, double compiled);

/// "MPFR 4.2.0", "torch's float64 kernels": who computed an fp64 gold.
std::string source_of(const ValueOrigin* origin);

/// ": fp64 of aten::dropout: it would draw other numbers"; empty where `reason` is.
std::string because(std::string_view reason);

/// Which side is nearer to the fp64 gold, for one output: "compiled", "eager", "both" or
/// "ill-conditioned", and the sentence that says so.  Empty without a gold, where nothing differs,
/// and where the gold may be as far from the truth itself as the sides are from one another:
///
///   float64 outputs by torch's float64 kernels   eager is within 2^-48 of the greatest |gold|: its
///                                                 kernels are the gold's
///   a gold with an error of n ulp of float64      the errors differ by less than 2n ulp of the
///                                                 greatest |gold|
struct NearerSide {
  std::optional<Nearer> side;
  std::string sentence;
};
NearerSide nearer_side(Comparison& comparison);

}  // namespace lockstep
