#include "judge/numerics/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "judge/numerics/checks.h"
#include "judge/numerics/classes.h"
#include "judge/numerics/close.h"
#include "judge/numerics/no_worse.h"
#include "judge/numerics/numbers.h"
#include "judge/numerics/same.h"

namespace lockstep {
namespace {

std::vector<const TensorView*> sides(const Subject& subject) {
  return {subject.eager, subject.compiled};
}

}  // namespace

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
  if (subject_.golds[Gold::fp64] == nullptr) return nullptr;
  if (!fp64_) {
    const std::array views = {subject_.eager, subject_.compiled, subject_.golds[Gold::fp64]};
    fp64_ = compare_with_gold(TensorWalk(views), dtype_, *subject_.golds[Gold::fp64]->dtype, 0,
                              options_);
  }
  return &*fp64_;
}

const GoldNumbers* Comparison::gold_stepwise(double steps) {
  if (subject_.golds[Gold::stepwise] == nullptr) return nullptr;
  for (const auto& [of_pass, numbers] : stepwise_) {
    if (of_pass == steps) return &numbers;
  }
  const std::array views = {subject_.eager, subject_.compiled, subject_.golds[Gold::stepwise]};
  stepwise_.emplace_back(
      steps, compare_with_gold(TensorWalk(views), dtype_, *subject_.golds[Gold::stepwise]->dtype,
                               steps, options_));
  return &stepwise_.back().second;
}

const NoiseNumbers& Comparison::noise_fp64() {
  if (!fp64_noise_) {
    fp64_noise_.emplace();
    if (subject_.golds[Gold::fp64] != nullptr) {
      fp64_noise_ = measure_noise(subject_.samples[Gold::fp64_noise], *subject_.eager,
                                  *subject_.golds[Gold::fp64], 0, options_);
    }
  }
  return *fp64_noise_;
}

NoiseNumbers Comparison::noise_stepwise(double steps) const {
  if (subject_.golds[Gold::stepwise] == nullptr || subject_.samples[Gold::stepwise_noise].empty())
    return {};
  std::vector<const TensorView*> samples = subject_.samples[Gold::stepwise_noise];
  samples.push_back(subject_.eager);
  return measure_noise(samples, *subject_.golds[Gold::stepwise], *subject_.golds[Gold::stepwise],
                       steps, options_);
}

std::optional<Conditioning> Comparison::conditions() const {
  if (subject_.golds[Gold::fp64] == nullptr || subject_.golds[Gold::perturbed] == nullptr ||
      subject_.golds[Gold::perturbed]->dtype != subject_.golds[Gold::fp64]->dtype)
    return std::nullopt;
  const std::array views = {subject_.eager, subject_.compiled, subject_.golds[Gold::fp64],
                            subject_.golds[Gold::perturbed]};
  return conditioning(TensorWalk(views), dtype_, *subject_.golds[Gold::fp64]->dtype, table_.atol);
}

std::int64_t Comparison::unexplained(const Policy& rule) {
  const GoldSet needs = gold_needs(rule);
  std::vector<const TensorView*> others;
  if (needs[Gold::fp64] && subject_.golds[Gold::fp64] != nullptr &&
      !subject_.samples[Gold::fp64_noise].empty()) {
    others = subject_.samples[Gold::fp64_noise];
    others.push_back(subject_.golds[Gold::fp64]);
  }
  if (needs[Gold::stepwise])
    others.insert(others.end(), subject_.samples[Gold::stepwise_noise].begin(),
                  subject_.samples[Gold::stepwise_noise].end());
  const std::int64_t all = pair().nonfinite;
  return all == 0 || others.empty()
             ? all
             : std::min(all, unexplained_specials(*subject_.eager, *subject_.compiled, others));
}

std::string Comparison::of_all(std::int64_t some) const {
  return fmt::format("{} of {} elements", some, subject_.eager->elements());
}

CheckResult Comparison::check(const Policy& policy) {
  const Judges judges = info(policy.kind).judges;
  if (judges == Judges::children) return check_of(policy.kind)(*this, policy);
  CheckResult result;
  const std::int64_t special = judges == Judges::elements ? unexplained(policy) : 0;
  if (special > 0) {
    result = leaf(Quantity::nonfinite, special, 0, [&] {
      return fmt::format("NaN or infinity differs in {}{}", of_all(special), worst_place());
    });
  } else {
    result = check_of(policy.kind)(*this, policy);
  }
  result.leaves.front().policy = to_string(policy);
  return result;
}

std::vector<Measurement> Comparison::grading() {
  const PairNumbers& numbers = pair();
  if (numbers.differing == 0 || numbers.nonfinite > 0) return {};
  if (!number_dtype(dtype_).is_floating()) return {};
  std::vector<Measurement> tried;
  for (const Grade grade : {Grade::ulp4, Grade::close, Grade::no_worse1, Grade::same1e3}) {
    if (grade == Grade::no_worse1 && gold_fp64() == nullptr) continue;
    const Policy layer = *parse_policy(policy_of(grade));
    // The loosest layer asks no stepwise gold: an elided cast is no reason to grade nothing.
    const CheckResult result =
        grade == Grade::same1e3 ? check_same(*this, layer.parameter, false) : check(layer);
    tried.push_back(result.leaves.front());
    tried.back().policy = to_string(layer);
    if (result.holds()) break;
  }
  return tried;
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

void Comparison::add_numbers(OutputComparison& output) {
  const PairNumbers& numbers = pair();
  output.elements = subject_.eager->elements();
  output.differing = numbers.differing;
  output.vacuous = numbers.all_zero || numbers.all_nan;
  if (numbers.differing > 0 && dtype_.kind != NumberKind::opaque) {
    output.max_abs = numbers.max_abs;
    output.max_rel = numbers.max_rel;
    output.max_ulp = numbers.max_ulp;
  }
  if (numbers.differing > 0 && number_dtype(dtype_).is_floating()) {
    output.classes = difference_classes(numbers);
    output.ulp_histogram = ulp_histogram(numbers);
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
}

Nearer side_by_errors(double eager, double compiled) {
  if (compiled > 1.1 * eager) return Nearer::eager;
  if (eager > 1.1 * compiled) return Nearer::compiled;
  return Nearer::both;
}

std::string source_of(const ValueOrigin* origin) {
  return origin == nullptr ? "torch's float64 kernels" : origin->by;
}

std::string because(std::string_view reason) {
  return reason.empty() ? "" : fmt::format(": {}", reason);
}

NearerSide nearer_side(Comparison& comparison) {
  const GoldNumbers* gold = comparison.gold_fp64();
  const PairNumbers& pair = comparison.pair();
  if (gold == nullptr || pair.unequal == 0) return {};
  if (gold->numbers + gold->eager_special + gold->compiled_special == 0) return {};
  if (const auto conditions = comparison.conditions(); conditions && conditions->ill()) {
    // Where eager and compiled differ in a NaN only, there is no distance to compare with.
    const bool far = std::isinf(conditions->moved) || conditions->apart == 0;
    return {Nearer::ill_conditioned,
            "ill-conditioned: moving the inputs by one ulp moves the fp64 result " +
                (far ? "to or from NaN or infinity"
                     : fmt::format("{:.3g} times as far as eager and compiled are apart",
                                   conditions->moved / conditions->apart))};
  }
  const std::int64_t e = gold->eager_special;
  const std::int64_t c = gold->compiled_special;
  const ValueOrigin* origin = comparison.subject().origin;
  const Dtype& number = number_dtype(*comparison.subject().eager->dtype);
  const bool is_double = number.is_floating() && number.bytes == 8;
  // What eager computes in double is the gold itself, which then knows nothing better.
  if (is_double && origin == nullptr && e == 0 && gold->eager_max <= 0x1p-48 * gold->gold_max)
    return {};
  const double own =
      origin == nullptr ? 0 : origin->ulp * ulp_at(*find_dtype("float64"), gold->gold_max);
  if (e == c && std::fabs(gold->compiled_max - gold->eager_max) < 2 * own) return {};
  const std::string name = fmt::format("the fp64 gold ({})", source_of(origin));
  if (e != c) {
    const auto sentence = [&](std::string_view far, std::string_view near, auto more, auto less) {
      return fmt::format(
          "{} has NaN or infinity where {} has not, or lacks it, in {} number{}, {} in {}", far,
          name, more, more == 1 ? "" : "s", near, less == 0 ? "none" : fmt::format("{}", less));
    };
    if (c > e) return {Nearer::eager, sentence("compiled", "eager", c, e)};
    return {Nearer::compiled, sentence("eager", "compiled", e, c)};
  }
  const double eager = gold->eager_max;
  const double compiled = gold->compiled_max;
  const auto sentence = [&](std::string_view far, std::string_view near, double more, double less) {
    const std::string times = less > 0 ? fmt::format("{:.3g} times ", more / less) : "";
    return fmt::format("{} is {}further from {} than {} (greatest error {:.3g} against {:.3g})",
                       far, times, name, near, more, less);
  };
  const Nearer side = side_by_errors(eager, compiled);
  if (side == Nearer::eager) return {side, sentence("compiled", "eager", compiled, eager)};
  if (side == Nearer::compiled) return {side, sentence("eager", "compiled", eager, compiled)};
  return {side, fmt::format("eager and compiled are equally far from {} (greatest error {:.3g} and "
                            "{:.3g})",
                            name, eager, compiled)};
}

}  // namespace lockstep
