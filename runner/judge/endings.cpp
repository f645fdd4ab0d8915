#include "judge/endings.h"

#include <fmt/format.h>

#include "base/pattern.h"
#include "base/text.h"

namespace lockstep {
namespace {

bool ended_badly(const Observation& observation) {
  return observation.outcome != Outcome::returned && observation.outcome != Outcome::raised &&
         observation.outcome != Outcome::unsupported;
}

/// The statuses of executions that did not end by themselves.
Ending bad_ending(std::string_view who, const Observation& observation) {
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

/// Where a compiled path was lost while it had not begun to compile: what ran then was eager
/// Python, or what prepares it, and nothing is known of the compiler.  Nothing where the compiler
/// may be to blame; nor where memory ended or the worker was lost, which accuse nobody of a wrong
/// result.
std::optional<Ending> died_before_compiling(const Observation& compiled) {
  const bool before = compiled.stage == "prepare" || compiled.stage == "eager";
  const bool blames =
      compiled.outcome == Outcome::crashed || compiled.outcome == Outcome::timed_out;
  if (!before || !blames) return std::nullopt;
  return Ending{Status::harness,
                bad_ending("before anything was compiled, eager in Python", compiled).reason};
}

/// What is wrong with a case that says which error it is about, if its reference does not raise
/// that one.
std::optional<Ending> wrong_case(const RaisesRule& rule, const Observation& eager) {
  if (eager.outcome == Outcome::returned) {
    return Ending{Status::harness, "the case says that it raises, but eager returns"};
  }
  const auto difference = raises_difference(rule, *eager.error);
  if (!difference) return Ending{Status::harness, difference.error().message};
  if (difference->empty()) return std::nullopt;
  return Ending{Status::harness,
                fmt::format("eager does not raise what the case is about: {}", *difference)};
}

Ending compiled_raised(const Observation& eager, const RaisedError& error,
                       const std::optional<RaisesRule>& raises) {
  if (error.kind == "internal") {
    return {Status::internal_error, fmt::format("the compiler failed: {}", describe(error))};
  }
  if (error.kind == "refused") {
    return {Status::refused, fmt::format("the compiler refuses: {}", describe(error))};
  }
  if (eager.outcome == Outcome::returned) {
    return {Status::spurious_error,
            fmt::format("eager returns, compiled raises {}", describe(error))};
  }
  if (raises) {
    const auto difference = raises_difference(*raises, error);
    if (difference && difference->empty()) return {};
    return {Status::spurious_error, fmt::format("compiled raises another error than eager: {}",
                                                difference.value_or(raises->match))};
  }
  return {Status::conform, fmt::format("both raise; eager {}; compiled {}", describe(*eager.error),
                                       describe(error))};
}

}  // namespace

std::string describe(const RaisedError& error) {
  return fmt::format("{}: {}", one_line(error.class_name, 100), one_line(error.message, 200));
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

std::optional<Ending> judge_endings(const Observation& eager, const Observation& compiled,
                                    const std::optional<RaisesRule>& raises, bool compiles) {
  if (compiled.outcome == Outcome::unsupported) {
    return Ending{Status::unsupported, one_line(compiled.reason)};
  }
  const bool lost = ended_badly(compiled);
  if (lost && compiles && !ended_badly(eager)) {
    if (auto ending = died_before_compiling(compiled)) return ending;
  }
  // Where C++ eager has no spelling for the program, a process that died left no reference either:
  // what it died of is known all the same.
  if (eager.outcome == Outcome::unsupported) {
    if (lost) return bad_ending("compiled", compiled);
    return Ending{Status::unsupported, fmt::format("eager: {}", one_line(eager.reason))};
  }
  if (ended_badly(eager)) return bad_ending("eager", eager);
  for (const Observation* side : {&eager, &compiled}) {
    // A reader refuses such an observation; one that is made by hand must not be a null
    // dereference.
    if (side->outcome == Outcome::raised && !side->error) {
      return Ending{Status::worker_lost, "raised, but the error is not recorded"};
    }
  }
  // A case that is wrong about its reference is wrong on every path, however that ends.
  if (raises) {
    if (auto wrong = wrong_case(*raises, eager)) return wrong;
  }
  if (lost) return bad_ending("compiled", compiled);
  if (compiled.outcome == Outcome::raised) return compiled_raised(eager, *compiled.error, raises);
  if (eager.outcome == Outcome::returned) return std::nullopt;
  // Eager lacks a kernel that the compiler does without, unless the case says that it should raise.
  if (eager.error->class_name == "NotImplementedError" && !raises) {
    return Ending{Status::extension,
                  fmt::format("compiled returns, eager raises {}", describe(*eager.error))};
  }
  return Ending{Status::validation_lost,
                fmt::format("compiled returns, eager raises {}", describe(*eager.error))};
}

}  // namespace lockstep
