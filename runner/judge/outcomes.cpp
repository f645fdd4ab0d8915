#include "judge/outcomes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/pattern.h"
#include "base/text.h"
#include "judge/proof.h"

namespace lockstep {
namespace {

bool ended_badly(const Observation& observation) {
  return observation.outcome != Outcome::returned && observation.outcome != Outcome::raised &&
         observation.outcome != Outcome::unsupported;
}

/// The statuses of executions that did not end by themselves.
OutcomeFinding bad_outcome(std::string_view who, const Observation& observation) {
  const auto say = [&](std::string_view what) {
    std::string reason = fmt::format("{} {}", who, what);
    if (!observation.stage.empty()) reason += fmt::format(" in stage {}", observation.stage);
    if (!observation.reason.empty()) reason += ": " + one_line(observation.reason);
    return reason;
  };
  switch (observation.outcome) {
    case Outcome::crashed:
      return {Status::crash,
              say(observation.signal != 0 ? fmt::format("died of signal {}", observation.signal)
                                          : "ended without a result")};
    case Outcome::timed_out:
      return {Status::timeout, say("did not end in time")};
    case Outcome::out_of_memory:
      return {Status::oom, say("ran out of memory")};
    default:
      return {Status::worker_lost, say("lost its worker")};
  }
}

/// A compiled path that was lost before it began to compile. Only eager Python, or its preparation,
/// ran, so nothing is known of the compiler. Nothing where the compiler
/// may be to blame; nor where memory ended or the worker was lost, which accuse nobody of a wrong
/// result.
std::optional<OutcomeFinding> died_before_compiling(const Observation& compiled) {
  const bool before = compiled.stage == "prepare" || compiled.stage == "eager";
  const bool blames =
      compiled.outcome == Outcome::crashed || compiled.outcome == Outcome::timed_out;
  if (!before || !blames) return std::nullopt;
  return OutcomeFinding{
      Status::harness,
      bad_outcome("before anything was compiled, eager in Python", compiled).reason};
}

/// What is wrong with a case that says which error it is about, if its reference does not raise
/// that one.  Errors are the CPU's: of an index that there is not a GPU asserts on the device, and
/// of a division by zero it says nothing.  So elsewhere the case has nothing to ask.
std::optional<OutcomeFinding> wrong_case(const RaisesRule& rule, const Observation& eager,
                                         const std::string& device) {
  std::string wrong = "the case says that it raises, but eager returns";
  if (eager.outcome != Outcome::returned) {
    const auto difference = raises_difference(rule, *eager.error);
    if (!difference) return OutcomeFinding{Status::harness, difference.error().message};
    if (difference->empty()) return std::nullopt;
    wrong = "eager does not raise what the case is about: " + *difference;
  }
  if (device == "cpu") return OutcomeFinding{Status::harness, std::move(wrong)};
  return OutcomeFinding{Status::unsupported, fmt::format("on {}: {}", device, wrong)};
}

/// Whether a class such as "vendor.errors.Unsupported" is meant: by its whole name or its last
/// part.
bool class_matches(std::string_view glob, std::string_view name) {
  return glob.empty() || glob_match(glob, name) ||
         glob_match(glob, name.substr(name.rfind('.') + 1));
}

/// Whether an error says no more than that its diagnostics do: "compilation failed, see output".
bool points_to_diagnostics(const RaisedError& error) {
  constexpr std::string_view kPoints =
      "(?i)\\b(?:see|check|consult|refer to|look at)\\b.*"
      "\\b(?:diagnostics?|logs?|stderr|output|console|above|messages?)\\b";
  return is_found(kPoints, error.message).value_or(false);
}

/// The declaration of the path that an error meets, or nullptr.  Where it only points to its
/// diagnostics, these are asked, too.
const RefusalRule* declared_refusal(std::span<const RefusalRule> rules,
                                    const Observation& compiled) {
  const RaisedError& error = *compiled.error;
  const bool points = points_to_diagnostics(error);
  const auto meets = [&](const RefusalRule& rule) {
    // Torch's wrapping does not count: every failure of a backend has it.  A path file
    // whose expression is none was refused.
    return class_matches(rule.error, error.class_name) &&
           (rule.match.empty() || is_found(rule.match, error.message).value_or(false) ||
            is_found(rule.match, error.detail).value_or(false) ||
            (points && is_found(rule.match, compiled.stderr_tail).value_or(false)));
  };
  const auto found = std::find_if(rules.begin(), rules.end(), meets);
  return found == rules.end() ? nullptr : &*found;
}

/// The error of the path in words; where it only points to its diagnostics, with them.
std::string describe_whole(const Observation& compiled) {
  std::string text = describe(*compiled.error);
  if (!points_to_diagnostics(*compiled.error)) return text;
  const std::string line = telling_line(compiled.stderr_tail);
  return line.empty() || text.find(line) != std::string::npos ? text : text + ": " + line;
}

OutcomeFinding compiled_raised(const Observation& eager, const Observation& compiled,
                               const OutcomeRules& rules) {
  const RaisedError& error = *compiled.error;
  const bool both = eager.outcome == Outcome::raised;
  if (both && eager.error->class_name == error.class_name) {
    // The text counts where the case says so; wrong_case has read the expression.
    const auto difference = rules.raises ? raises_difference(*rules.raises, error) : std::string();
    if (difference && difference->empty()) {
      return {Status::conform, fmt::format("both raise; eager {}; compiled {}",
                                           describe(*eager.error), describe(error))};
    }
  }
  const std::string text = describe_whole(compiled);
  // Eager has no program to hold the compiler to.  A case that is about an error, whichever, has
  // it.
  const bool names_error =
      rules.raises && !(rules.raises->class_name.empty() && rules.raises->match.empty());
  if (both && eager.error->class_name == "NotImplementedError" && !names_error) {
    return {rules.raises ? Status::conform : Status::unsupported,
            fmt::format("eager raises {}; compiled {}", describe(*eager.error), text)};
  }
  if (const RefusalRule* rule = declared_refusal(rules.refuses, compiled))
    return {Status::unsupported, declared_reason(rule->reason), true};
  if (error.kind == ErrorKind::refused)
    return {Status::refused, fmt::format("the compiler refuses: {}", text)};
  if (error.kind == ErrorKind::internal)
    return {Status::internal_error, fmt::format("the compiler failed: {}", text)};
  if (!both)
    return {Status::spurious_error, fmt::format("eager returns, compiled raises {}", text)};
  std::string reason = fmt::format("eager raises {}, compiled {}", describe(*eager.error), text);
  if (rules.raises && !rules.raises->match.empty())
    reason += fmt::format(", expected text matching \"{}\"", one_line(rules.raises->match, 100));
  return {Status::error_diverges, std::move(reason)};
}

}  // namespace

std::string describe(const RaisedError& error) {
  std::string text =
      fmt::format("{}: {}", one_line(error.class_name, 100), one_line(error.message, 200));
  if (!error.detail.empty()) text += fmt::format(" ({})", one_line(error.detail, 200));
  return text;
}

std::string telling_line(std::string_view stderr_tail) {
  std::string_view last, told;
  while (!stderr_tail.empty()) {
    const std::size_t end = stderr_tail.find('\n');
    const std::string_view line = stderr_tail.substr(0, end);
    stderr_tail.remove_prefix(end == std::string_view::npos ? stderr_tail.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    last = line;
    if (is_found("(?i)\\b(?:error|fatal|failed|unsupported|not supported)\\b", line)
            .value_or(false))
      told = line;
  }
  return one_line(told.empty() ? last : told, 200);
}

bool is_of_front_end(const Observation& compiled) {
  if (compiled.outcome != Outcome::raised || !compiled.error || compiled.error->stage != "trace")
    return false;
  return !backend_raised(compiled.proof) &&
         raised_without_backend(compiled.proof) == compiled.error->class_name;
}

Result<std::string> raises_difference(const RaisesRule& rule, const RaisedError& error) {
  if (!rule.class_name.empty() && error.class_name != rule.class_name) {
    return fmt::format("{}, expected class {}", describe(error), rule.class_name);
  }
  if (rule.match.empty()) return std::string();
  const auto found = is_found(rule.match, error.message);
  if (!found) return tl::unexpected<Error>(found.error());
  if (*found) return std::string();
  return fmt::format("{}, expected text matching \"{}\"", describe(error),
                     one_line(rule.match, 100));
}

std::optional<OutcomeFinding> judge_outcomes(const Observation& eager, const Observation& compiled,
                                             const OutcomeRules& rules) {
  if (compiled.outcome == Outcome::unsupported) {
    return OutcomeFinding{Status::unsupported, one_line(compiled.reason)};
  }
  const bool lost = ended_badly(compiled);
  if (lost && rules.compiles && !ended_badly(eager)) {
    if (auto outcome = died_before_compiling(compiled)) return outcome;
  }
  // Where C++ eager has no spelling for the program, a process that died left no reference either:
  // what it died of is known all the same.
  if (eager.outcome == Outcome::unsupported) {
    if (lost) return bad_outcome("compiled", compiled);
    return OutcomeFinding{Status::unsupported, fmt::format("eager: {}", one_line(eager.reason))};
  }
  if (ended_badly(eager)) return bad_outcome("eager", eager);
  for (const Observation* side : {&eager, &compiled}) {
    // A reader refuses such an observation; one that is made by hand must not be a null
    // dereference.
    if (side->outcome == Outcome::raised && !side->error) {
      return OutcomeFinding{Status::worker_lost, "raised, but the error is not recorded"};
    }
  }
  // A case that is wrong about its reference is wrong on every path, however that ends.
  if (rules.raises) {
    if (auto wrong = wrong_case(*rules.raises, eager, rules.device)) return wrong;
  }
  if (lost) return bad_outcome("compiled", compiled);
  if (compiled.outcome == Outcome::raised) return compiled_raised(eager, compiled, rules);
  if (eager.outcome == Outcome::returned) return std::nullopt;
  // Eager lacks a kernel that the compiler does without, unless the case says that it should raise.
  if (eager.error->class_name == "NotImplementedError" && !rules.raises) {
    return OutcomeFinding{Status::extension,
                          fmt::format("compiled returns, eager raises {}", describe(*eager.error))};
  }
  return OutcomeFinding{Status::validation_lost,
                        fmt::format("compiled returns, eager raises {}", describe(*eager.error))};
}

}  // namespace lockstep
