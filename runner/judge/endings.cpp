#include "judge/endings.h"

#include <fmt/format.h>

#include <regex>

#include "base/text.h"

namespace lockstep {
namespace {

/// std::regex recurses once for each character that it reads.
constexpr std::size_t kLongestMatched = 4096;

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

/// Both raised, and the case says which error it is about.
Ending judge_raises(const RaisesRule& rule, const RaisedError& eager, const RaisedError& compiled) {
  const auto by_eager = raises_difference(rule, eager);
  if (!by_eager) return {Status::harness, by_eager.error().message};
  if (!by_eager->empty()) {
    return {Status::harness,
            fmt::format("eager does not raise what the case is about: {}", *by_eager)};
  }
  const auto by_compiled = raises_difference(rule, compiled);
  if (!by_compiled) return {Status::harness, by_compiled.error().message};
  if (by_compiled->empty()) return {};
  return {Status::spurious_error,
          fmt::format("compiled raises another error than eager: {}", *by_compiled)};
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
  if (raises) return judge_raises(*raises, *eager.error, error);
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
  try {
    const std::regex pattern(rule.match, std::regex::ECMAScript);
    const std::string message = error.message.substr(0, kLongestMatched);
    if (std::regex_search(message, pattern)) return std::string();
  } catch (const std::regex_error& problem) {
    return fail(fmt::format("cannot match \"{}\": {}", one_line(rule.match, 100), problem.what()),
                "`match` is an ECMAScript regular expression");
  }
  return fmt::format("{}, expected text matching \"{}\"", describe(error),
                     one_line(rule.match, 100));
}

std::optional<Ending> judge_endings(const Observation& eager, const Observation& compiled,
                                    const std::optional<RaisesRule>& raises) {
  if (compiled.outcome == Outcome::unsupported) {
    return Ending{Status::unsupported, one_line(compiled.reason)};
  }
  if (eager.outcome == Outcome::unsupported) {
    return Ending{Status::unsupported, fmt::format("eager: {}", one_line(eager.reason))};
  }
  if (ended_badly(compiled)) return bad_ending("compiled", compiled);
  if (ended_badly(eager)) return bad_ending("eager", eager);
  for (const Observation* side : {&eager, &compiled}) {
    // A reader refuses such an observation; one that is made by hand must not be a null
    // dereference.
    if (side->outcome == Outcome::raised && !side->error) {
      return Ending{Status::worker_lost, "raised, but the error is not recorded"};
    }
  }
  if (raises && eager.outcome == Outcome::returned) {
    return Ending{Status::harness, "the case says that it raises, but eager returns"};
  }
  if (compiled.outcome == Outcome::raised) return compiled_raised(eager, *compiled.error, raises);
  if (eager.outcome == Outcome::returned) return std::nullopt;
  if (eager.error->class_name == "NotImplementedError") {
    return Ending{Status::extension,
                  fmt::format("compiled returns, eager raises {}", describe(*eager.error))};
  }
  return Ending{Status::validation_lost,
                fmt::format("compiled returns, eager raises {}", describe(*eager.error))};
}

}  // namespace lockstep
