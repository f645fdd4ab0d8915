#include "verdict/contradiction.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "policies/policy.h"

namespace lockstep {
namespace {

/// What the values of an output come to by its leaves.
struct Answer {
  Status status = Status::conform;
  std::string fault;  ///< why nothing can be told
};

/// Whether the limit of a quantity is 0 under every policy.
bool counts_faults(Quantity of, Policy::Kind kind) {
  switch (of) {
    case Quantity::ulp:
    case Quantity::error:
    case Quantity::beyond:
    case Quantity::gross:
    case Quantity::rmse:
    case Quantity::mean:
    case Quantity::variance:
      return false;
    case Quantity::nonfinite:
      return kind != Policy::Kind::statistical;
    default:
      return true;
  }
}

/// Whether samples of a gold's noise may explain NaN and infinities to the policy.
bool reads_gold(Policy::Kind kind) { return info(kind).golds != GoldSet(); }

/// The number of the output that a leaf repeats; negative where there is none.
double repeated_number(const OutputComparison& output, Quantity of, Policy::Kind kind) {
  if (of == Quantity::differing && kind != Policy::Kind::bits_strict) {
    return static_cast<double>(output.differing);
  }
  if (of == Quantity::nonfinite && kind != Policy::Kind::statistical && !reads_gold(kind)) {
    return static_cast<double>(output.classes.nan + output.classes.infinity);
  }
  return -1;
}

std::string fault_of(const OutputComparison& output, const Policy& policy,
                     const Measurement& leaf) {
  const auto say = [&](std::string_view what) {
    return fmt::format("check {} ({} {}, limit {}) {}", leaf.policy, name_of(leaf.of),
                       leaf.measured, leaf.limit, what);
  };
  if (leaf.ok != (leaf.measured <= leaf.limit)) {
    return say(leaf.ok ? "is said to hold" : "is said to fail");
  }
  if (counts_faults(leaf.of, policy.kind) && leaf.limit != 0) return say("has no limit but 0");
  if (leaf.of == Quantity::ulp && leaf.limit != policy.parameter) {
    return say("has another limit than its policy");
  }
  const double repeated = repeated_number(output, leaf.of, policy.kind);
  if (repeated >= 0 && leaf.measured != repeated) {
    return say(fmt::format("counts otherwise than the output, {}", repeated));
  }
  const auto differing = static_cast<double>(output.differing);
  if (leaf.of == Quantity::unequal && leaf.measured > differing) {
    return say(fmt::format("counts more than differ, {}", output.differing));
  }
  const std::int64_t special = output.classes.nan + output.classes.infinity;
  if (leaf.of == Quantity::nonfinite && policy.kind != Policy::Kind::statistical &&
      leaf.measured > static_cast<double>(special)) {
    return say(fmt::format("counts more than differ so, {}", special));
  }
  if (special > 0 && info(policy.kind).judges == Judges::elements &&
      leaf.of != Quantity::nonfinite && !reads_gold(policy.kind)) {
    return say("passes over NaN and infinity");
  }
  return "";
}

/// Asks a policy as the judge does, its leaves having answered before.
Answer ask(const OutputComparison& output, const Policy& policy,
           std::span<const Measurement>& leaves) {
  if (info(policy.kind).judges != Judges::children) {
    const std::string asked = to_string(policy);
    if (leaves.empty()) return {{}, fmt::format("the check {} is missing", asked)};
    const Measurement leaf = leaves.front();
    leaves = leaves.subspan(1);
    if (leaf.policy != asked) {
      return {{}, fmt::format("the check {} is where {} is due", leaf.policy, asked)};
    }
    return {status_of(leaf), fault_of(output, policy, leaf)};
  }
  const bool any = policy.kind == Policy::Kind::any_of;
  Answer first;
  for (const Policy& child : policy.children) {
    Answer answer = ask(output, child, leaves);
    const bool holds = answer.status == Status::conform;
    if (!answer.fault.empty() || holds == any) return answer;
    if (first.status == Status::conform) first = std::move(answer);
  }
  return first;
}

Answer values_of(const OutputComparison& output) {
  if (output.checks.empty()) {
    if (output.differing == 0) return {};
    return {{}, fmt::format("{} elements differ, and no check is recorded", output.differing)};
  }
  const auto policy = parse_policy(output.policy);
  if (!policy) return {{}, fmt::format("its policy: {}", policy.error().message)};
  std::span<const Measurement> leaves = output.checks;
  Answer answer = ask(output, *policy, leaves);
  if (answer.fault.empty() && !leaves.empty()) {
    answer.fault = fmt::format("the check {} is one that {} does not ask", leaves.front().policy,
                               output.policy);
  }
  return answer;
}

std::string wrong_counts(const OutputComparison& output) {
  const DifferenceClasses& classes = output.classes;
  if (output.elements < 0 || output.differing < 0 || output.differing > output.elements) {
    return fmt::format("{} of {} elements differ", output.differing, output.elements);
  }
  const std::int64_t parts[] = {classes.nan,       classes.infinity,  classes.zero_sign,
                                classes.subnormal, classes.last_bits, classes.value};
  std::int64_t left = output.differing;
  for (const std::int64_t part : parts) {
    if (part < 0 || part > left) left = -1;
    if (left >= 0) left -= part;
  }
  if (left != 0) {
    return fmt::format("its classes ({}) do not add up to {}", describe(classes), output.differing);
  }
  const std::int64_t infinities[] = {classes.eager_infinity, classes.compiled_infinity};
  if (std::min({classes.eager_nan, infinities[0], infinities[1]}) < 0 ||
      classes.eager_nan > classes.nan || infinities[0] > classes.infinity - infinities[1]) {
    return fmt::format("more elements are NaN or infinite on one side than differ so ({})",
                       describe(classes));
  }
  return "";
}

std::string wrong_grade(const OutputComparison& output) {
  for (const Measurement& each : output.grading) {
    const auto policy = parse_policy(each.policy);
    if (!policy) return fmt::format("its grading: {}", policy.error().message);
    if (std::string fault = fault_of(output, *policy, each); !fault.empty()) return fault;
  }
  if (!output.grade) {
    return output.differing == 0 && output.grading.empty() ? "" : "it has no grade";
  }
  const Grade grade = grade_of(output.differing, output.grading);
  if (grade == *output.grade) return "";
  return fmt::format("its grade is {}, by its grading {}", name_of(*output.grade), name_of(grade));
}

/// Two outputs of a name could not be told apart, so a difference is about the one that has it.
std::string wrong_status(const OutputComparison& output, Status values,
                         const std::vector<Difference>& differences) {
  const bool input = is_input(output.name);
  const Status due = values != Status::conform && input ? Status::mutation_diverges : values;
  Status first = Status::conform;
  bool named = due == Status::conform;
  for (const Difference& difference : differences) {
    if (difference.name != output.name || difference.repetition != 0) continue;
    if (first == Status::conform) first = difference.status;
    named = named || difference.status == due;
    const bool of_values = difference.status == Status::value_diverges ||
                           difference.status == Status::nonfinite_diverges;
    if (of_values && difference.status != due) {
      return fmt::format("{} is among the differences, but by its checks it is {}",
                         info(difference.status).name, info(due).name);
    }
  }
  if (!named) {
    return fmt::format("by its checks it is {}, which is not among the differences",
                       info(due).name);
  }
  if (first == output.status) return "";
  return fmt::format("its status is {}, by its checks and differences {}", info(output.status).name,
                     info(first).name);
}

std::string wrong_output(const OutputComparison& output,
                         const std::vector<Difference>& differences) {
  if (std::string wrong = wrong_counts(output); !wrong.empty()) return wrong;
  const Answer values = values_of(output);
  if (!values.fault.empty()) return values.fault;
  if (std::string wrong = wrong_status(output, values.status, differences); !wrong.empty()) {
    return wrong;
  }
  return wrong_grade(output);
}

std::string wrong_differences(const Findings& found) {
  for (const Difference& difference : found.differences) {
    if (difference.status == Status::conform) return "a difference that conforms";
    if (difference.name.empty() || difference.repetition != 0) continue;
    const bool listed =
        std::any_of(found.outputs.begin(), found.outputs.end(),
                    [&](const OutputComparison& each) { return each.name == difference.name; });
    if (!listed) {
      return fmt::format("a difference is about {}, which is not among the outputs",
                         difference.name);
    }
  }
  if (!found.differences.empty()) {
    const Status first = found.differences.front().status;
    if (first == found.status) return "";
    return fmt::format("its status is {}, by its first difference {}", info(found.status).name,
                       info(first).name);
  }
  const bool both_raise = found.eager_error && found.compiled_error;
  if (found.status == Status::conform) {
    const bool one_raises = !both_raise && (found.eager_error || found.compiled_error);
    if (one_raises) return "it conforms, but one side raised";
    if (found.outputs.empty() && !both_raise) return "it conforms, but nothing was compared";
    return "";
  }
  // An unsupported verdict was not judged, even if something was raised.
  const bool raised = found.eager_error || found.compiled_error;
  const bool judged = raised && info(found.status).rank != Rank::support;
  if (found.outputs.empty() && !judged) return "";
  return fmt::format("its status is {}, but no difference is recorded", info(found.status).name);
}

std::string wrong_flags(const Findings& found) {
  std::optional<Grade> worst;
  bool vacuous = !found.outputs.empty();
  // Of a program that returns nothing, its inputs are what counts.
  const bool only_inputs =
      std::all_of(found.outputs.begin(), found.outputs.end(),
                  [](const OutputComparison& output) { return is_input(output.name); });
  bool weak = false;
  for (const OutputComparison& output : found.outputs) {
    if (output.grade && (!worst || *output.grade > *worst)) worst = output.grade;
    vacuous = vacuous && (output.vacuous || (!only_inputs && is_input(output.name)));
    weak = weak || !output.weak.empty();
    if (!output.weak.empty() && output.status != Status::conform) {
      return fmt::format("{} is weak, but does not conform", output.name);
    }
  }
  if (worst != found.grade) {
    const auto name = [](std::optional<Grade> grade) {
      return grade ? name_of(*grade) : std::string_view("none at all");
    };
    return fmt::format("its grade is {}, by its outputs {}", name(found.grade), name(worst));
  }
  if (vacuous && !found.vacuous) return "every output is vacuous, but the verdict is not";
  if ((weak && found.status == Status::conform) != !found.weak.empty()) {
    return weak ? "an output is weak, but the verdict is not"
                : "it is weak, but no output that conforms is";
  }
  return "";
}

std::string wrong_standing(Status status, const Account& account) {
  if (account.standing == Standing::new_) return "";
  if (!account.expectation) {
    return fmt::format("it is {}, but no expectation is recorded", name_of(account.standing));
  }
  const Status expected = account.expectation->status;
  const bool right =
      account.standing == Standing::fixed ? status == Status::conform : status == expected;
  if (right) return "";
  return fmt::format("it is {}, its status {}, and {} was expected", name_of(account.standing),
                     info(status).name, info(expected).name);
}

}  // namespace

std::string contradiction(const Findings& found) {
  for (const OutputComparison& output : found.outputs) {
    std::string wrong = wrong_output(output, found.differences);
    if (!wrong.empty()) return fmt::format("{}: {}", output.name, wrong);
  }
  std::string wrong = wrong_differences(found);
  return wrong.empty() ? wrong_flags(found) : wrong;
}

std::string contradiction(const Verdict& verdict) {
  std::string wrong = contradiction(verdict.found);
  return wrong.empty() ? wrong_standing(verdict.found.status, verdict.account) : wrong;
}

}  // namespace lockstep
