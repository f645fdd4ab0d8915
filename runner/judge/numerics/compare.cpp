#include "judge/numerics/compare.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "judge/numerics/classes.h"
#include "judge/numerics/indices.h"
#include "judge/numerics/numbers.h"
#include "judge/numerics/same.h"
#include "judge/numerics/statistical.h"

namespace lockstep {
namespace {

using Kind = Policy::Kind;

std::vector<const TensorView*> sides(const Subject& subject) {
  return {subject.eager, subject.compiled};
}

/// Rules that are not about the same position on both sides, or that are upstream's and as they
/// are.
bool ignores_masks(Kind kind) {
  return kind == Kind::same_upstream || kind == Kind::metadata || kind == Kind::statistical;
}

std::string of(std::int64_t some, std::int64_t all) {
  return fmt::format("{} of {} elements", some, all);
}

}  // namespace

Tolerance close_tolerance(const Dtype& dtype) {
  const Dtype& number = number_dtype(dtype);
  if (number.name == "float16") return {1e-3, 1e-5};
  if (number.name == "bfloat16") return {1.6e-2, 1e-5};
  if (number.name == "float32" || dtype.kind == NumberKind::quantized) return {1.3e-6, 1e-5};
  if (number.name == "float64") return {1e-7, 1e-7};
  return {0, 0};
}

Comparison::Comparison(Subject subject, PassOptions options)
    : subject_(std::move(subject)),
      options_(options),
      dtype_(*subject_.eager->dtype),
      walk_(sides(subject_)),
      table_(close_tolerance(dtype_)) {}

const PairNumbers& Comparison::pair(const Tolerance& tolerance) {
  for (const auto& [of_pass, numbers] : passes_) {
    // Where no element differs, every tolerance gives the same numbers.
    if (of_pass == tolerance || numbers.unequal == 0) return numbers;
  }
  passes_.emplace_back(tolerance, compare_pair(walk_, dtype_, tolerance, options_));
  return passes_.back().second;
}

const GoldNumbers* Comparison::gold_fp64() {
  if (subject_.fp64 == nullptr) return nullptr;
  if (!fp64_) {
    const std::array views = {subject_.eager, subject_.compiled, subject_.fp64};
    fp64_ = compare_with_gold(TensorWalk(views), dtype_, *subject_.fp64->dtype, 0, options_);
  }
  return &*fp64_;
}

const GoldNumbers* Comparison::gold_stepwise(double steps) {
  if (subject_.stepwise == nullptr) return nullptr;
  for (const auto& [of_pass, numbers] : stepwise_) {
    if (of_pass == steps) return &numbers;
  }
  const std::array views = {subject_.eager, subject_.compiled, subject_.stepwise};
  stepwise_.emplace_back(steps, compare_with_gold(TensorWalk(views), dtype_,
                                                  *subject_.stepwise->dtype, steps, options_));
  return &stepwise_.back().second;
}

std::optional<Conditioning> Comparison::conditions() const {
  if (subject_.fp64 == nullptr || subject_.perturbed == nullptr) return std::nullopt;
  const std::array views = {subject_.eager, subject_.compiled, subject_.fp64, subject_.perturbed};
  return conditioning(TensorWalk(views), dtype_, *subject_.fp64->dtype, table_.atol);
}

CheckResult Comparison::differ(std::string what) {
  return {Status::value_differs, what + worst_place()};
}

CheckResult Comparison::check(const Policy& policy) {
  switch (policy.kind) {
    case Kind::any_of:
      return any_of(policy);
    case Kind::all_of:
      for (const Policy& child : policy.children) {
        if (CheckResult result = check(child); !result.holds()) return result;
      }
      return {};
    default:
      break;
  }
  if (!ignores_masks(policy.kind) && pair().nonfinite > 0) {
    return {Status::nonfinite_differs,
            fmt::format("NaN or infinity differs in {}{}",
                        of(pair().nonfinite, subject_.eager->elements()), worst_place())};
  }
  return check_one(policy);
}

CheckResult Comparison::any_of(const Policy& policy) {
  CheckResult first;
  for (const Policy& child : policy.children) {
    CheckResult result = check(child);
    if (result.holds()) return result;
    if (first.holds()) {
      first = std::move(result);
    } else if (result.status == first.status && result.reason.ends_with(worst_place())) {
      // The place has been named; what remains is what this rule measured.
      result.reason.resize(result.reason.size() - worst_place().size());
      if (!first.reason.ends_with(result.reason)) first.reason += "; " + result.reason;
    }
  }
  return first;
}

CheckResult Comparison::check_one(const Policy& policy) {
  const std::int64_t all = subject_.eager->elements();
  const PairNumbers& numbers = pair();
  switch (policy.kind) {
    case Kind::bits:
      if (numbers.differing == 0) return {};
      return differ(of(numbers.differing, all) + " differ");
    case Kind::bits_strict:
      if (numbers.payload_differing == 0) return {};
      return differ(of(numbers.payload_differing, all) +
                    (numbers.differing == 0 ? " differ in the payload of a NaN" : " differ"));
    case Kind::equal:
    case Kind::exact:
      if (numbers.unequal == 0) return {};
      return differ(of(numbers.unequal, all) + " differ");
    case Kind::ulp:
      if (numbers.max_ulp <= static_cast<std::uint64_t>(policy.parameter)) return {};
      return differ(
          fmt::format("up to {} ulp apart, {} allowed", numbers.max_ulp, policy.parameter));
    case Kind::close:
      return close(policy);
    case Kind::same:
      return check_same(*this, policy.parameter, true);
    case Kind::same_upstream:
      return check_same_upstream(*this, policy.parameter);
    case Kind::no_worse:
      return no_worse(policy.parameter);
    case Kind::stepwise:
      return stepwise(policy.parameter);
    case Kind::index_equivalent:
      return check_indices(*this, policy);
    case Kind::statistical:
      return check_statistical(*this, policy.parameter);
    case Kind::metadata:
    case Kind::any_of:
    case Kind::all_of:
      break;
  }
  return {};
}

CheckResult Comparison::close(const Policy& policy) {
  Tolerance tolerance = table_;
  if (policy.rtol && policy.atol) tolerance = {*policy.rtol, *policy.atol};
  if (policy.terms) {
    const Dtype& number = number_dtype(dtype_);
    if (number.is_floating()) {
      const double roundoff = std::min(unit_roundoff(number), 0x1p-24);
      tolerance.atol += 16 * std::sqrt(static_cast<double>(*policy.terms)) * roundoff *
                        greatest_magnitude(walk_, dtype_, options_);
    }
  }
  const PairNumbers& numbers = pair(tolerance);
  if (numbers.not_close == 0) return {};
  return differ(fmt::format("{} outside rtol {:.3g}, atol {:.3g}",
                            of(numbers.not_close, subject_.eager->elements()), tolerance.rtol,
                            tolerance.atol));
}

CheckResult Comparison::no_worse(double factor) {
  if (pair().unequal == 0) return {};
  const GoldNumbers* gold = gold_fp64();
  if (gold == nullptr) return differ("no fp64 gold");
  if (gold->without_gold > 0) {
    return differ(of(gold->without_gold, subject_.eager->elements()) +
                  " differ where the fp64 gold is not finite");
  }
  const Dtype& number = number_dtype(dtype_);
  const double floor = number.is_floating() ? 2 * unit_roundoff(number) * gold->gold_max : 0;
  if (!(gold->compiled_max <= factor * gold->eager_max + floor)) {
    return differ(fmt::format("error against fp64 {:.3g}, eager's {:.3g}", gold->compiled_max,
                              gold->eager_max));
  }
  if (gold->compiled_gross <= gold->gross_allowed(factor)) return {};
  return differ(fmt::format("{} of {} numbers grossly wrong against fp64, {} in eager",
                            gold->compiled_gross, gold->looked_at, gold->eager_gross));
}

CheckResult Comparison::stepwise(double steps) {
  if (pair().unequal == 0) return {};
  const GoldNumbers* gold = gold_stepwise(steps);
  if (gold == nullptr) return differ("no stepwise gold");
  if (gold->without_gold > 0) {
    return differ(of(gold->without_gold, subject_.eager->elements()) +
                  " differ where the stepwise gold is not finite");
  }
  if (gold->beyond_steps == 0) return {};
  return differ(fmt::format("{} more than {} ulp further from the stepwise gold than eager",
                            of(gold->beyond_steps, subject_.eager->elements()), steps));
}

Grade Comparison::grade() {
  const PairNumbers& numbers = pair();
  if (numbers.differing == 0) return Grade::bits;
  if (numbers.nonfinite > 0) return Grade::none;
  const Dtype& number = number_dtype(dtype_);
  if (!number.is_floating()) return Grade::none;
  if (numbers.max_ulp <= 4) return Grade::ulp4;
  if (numbers.not_close == 0) return Grade::close;
  if (gold_fp64() != nullptr && no_worse(1).holds()) return Grade::no_worse1;
  return check_same(*this, 1e-3, false).holds() ? Grade::same1e3 : Grade::none;
}

std::int64_t Comparison::worst_position() {
  const PairNumbers& numbers = pair();
  for (const std::int64_t position : {numbers.first_nonfinite, numbers.max_abs_at,
                                      numbers.first_differing, numbers.first_payload}) {
    if (position >= 0) return position;
  }
  return -1;
}

std::string Comparison::element(const TensorView& view, std::int64_t position, bool bits) const {
  // A walk of its own, so that conj and neg are resolved as everywhere.
  std::string text;
  const bool compiled = &view == subject_.compiled;
  walk_.visit(position, position + 1, [&](std::int64_t, std::int64_t, const auto& blocks) {
    text = bits ? format_bits(dtype_, blocks[compiled ? 1 : 0])
                : format_element(dtype_, blocks[compiled ? 1 : 0]);
  });
  return text;
}

std::string Comparison::worst_place() {
  const std::int64_t position = worst_position();
  if (position < 0) return "";
  std::string eager = element(*subject_.eager, position, false);
  std::string compiled = element(*subject_.compiled, position, false);
  if (eager == compiled) {
    eager += fmt::format(" ({})", element(*subject_.eager, position, true));
    compiled += fmt::format(" ({})", element(*subject_.compiled, position, true));
  }
  const PairNumbers& numbers = pair();
  const std::string index = fmt::format("[{}]", fmt::join(walk_.index_of(position), ", "));
  if (position != numbers.max_abs_at) {
    return fmt::format(", first at {}: eager {}, compiled {}", index, eager, compiled);
  }
  return fmt::format(", greatest |Δ| {:.3g} at {}: eager {}, compiled {}", numbers.max_abs, index,
                     eager, compiled);
}

OutputComparison Comparison::numbers() {
  OutputComparison output;
  const PairNumbers& numbers = pair();
  output.type = describe(DataValue(*subject_.eager));
  output.elements = subject_.eager->elements();
  output.differing = numbers.differing;
  output.vacuous = numbers.all_zero || numbers.all_nan;
  if (numbers.differing > 0 && dtype_.kind != NumberKind::opaque) {
    output.max_abs = numbers.max_abs;
    output.max_rel = numbers.max_rel;
    output.max_ulp = numbers.max_ulp;
  }
  if (numbers.differing > 0 && number_dtype(dtype_).is_floating()) {
    output.classes = difference_classes(walk_, dtype_, options_);
  } else {
    output.classes.value = numbers.differing;
  }
  if (const std::int64_t position = worst_position(); position >= 0) {
    output.worst = walk_.index_of(position);
    output.eager = element(*subject_.eager, position, false);
    output.compiled = element(*subject_.compiled, position, false);
    if (output.eager == output.compiled) {
      output.eager += fmt::format(" ({})", element(*subject_.eager, position, true));
      output.compiled += fmt::format(" ({})", element(*subject_.compiled, position, true));
    }
  }
  return output;
}

std::string_view side_by_errors(double eager, double compiled) {
  if (compiled > 1.1 * eager) return "eager";
  if (eager > 1.1 * compiled) return "compiled";
  return "both";
}

Nearer nearer_side(Comparison& comparison) {
  const GoldNumbers* gold = comparison.gold_fp64();
  const PairNumbers& pair = comparison.pair();
  if (gold == nullptr || pair.unequal == 0) return {};
  if (gold->numbers + gold->eager_special + gold->compiled_special == 0) return {};
  if (const auto conditions = comparison.conditions(); conditions && conditions->ill()) {
    // Where eager and compiled differ in a NaN only, there is no distance to compare with.
    const bool far = std::isinf(conditions->moved) || conditions->apart == 0;
    return {"ill-conditioned",
            "ill-conditioned: moving the inputs by one ulp moves the fp64 result " +
                (far ? "to or from NaN or infinity"
                     : fmt::format("{:.3g} times as far as eager and compiled are apart",
                                   conditions->moved / conditions->apart))};
  }
  const std::int64_t e = gold->eager_special;
  const std::int64_t c = gold->compiled_special;
  // What eager computes in double is the gold itself, which then knows nothing better.
  const Dtype& number = number_dtype(*comparison.subject().eager->dtype);
  if (number.is_floating() && number.bytes == 8 && e == 0 && gold->eager_max == 0) return {};
  if (e != c) {
    const auto sentence = [](std::string_view far, std::string_view near, auto more, auto less) {
      return fmt::format(
          "{} has NaN or infinity where the fp64 gold has not, or lacks it, in {} number{}, {} in "
          "{}",
          far, more, more == 1 ? "" : "s", near, less == 0 ? "none" : fmt::format("{}", less));
    };
    if (c > e) return {"eager", sentence("compiled", "eager", c, e)};
    return {"compiled", sentence("eager", "compiled", e, c)};
  }
  const double eager = gold->eager_max;
  const double compiled = gold->compiled_max;
  const auto sentence = [](std::string_view far, std::string_view near, double more, double less) {
    const std::string times = less > 0 ? fmt::format("{:.3g} times ", more / less) : "";
    return fmt::format(
        "{} is {}further from the fp64 gold than {} (greatest error {:.3g} against "
        "{:.3g})",
        far, times, near, more, less);
  };
  const std::string side(side_by_errors(eager, compiled));
  if (side == "eager") return {side, sentence("compiled", "eager", compiled, eager)};
  if (side == "compiled") return {side, sentence("eager", "compiled", eager, compiled)};
  return {side, fmt::format("eager and compiled are equally far from the fp64 gold (greatest "
                            "error {:.3g} and {:.3g})",
                            eager, compiled)};
}

}  // namespace lockstep
