#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// What the judge says of one instance on one path.
enum class Status {
  conform,
  value_diverges,
  nonfinite_diverges,
  metadata_diverges,
  aliasing_diverges,
  mutation_diverges,
  state_diverges,
  relation_breaks,
  validation_lost,
  spurious_error,
  error_diverges,
  internal_error,
  crash,
  timeout,
  oom,
  worker_lost,
  not_compiled,
  fell_back,
  harness,
  refused,
  extension,
  unsupported,
  inconclusive,
};

/// Which element JUnit has for a verdict.
enum class JunitElement { pass, failure, error, skipped };

/// "pass", "failure", "error", "skipped".
std::string_view name_of(JunitElement element);

/// What the judge looked at when it found a status, in the order in which it looks: of two
/// statuses the one with the lower rank counts.
enum class Rank {
  support,    ///< whether both sides can execute the program here
  outcome,    ///< how the processes ended
  reference,  ///< whether the two eager executions agree
  error,      ///< what was raised
  metadata,
  aliasing,  ///< who shares memory with whom
  nonfinite,
  value,
  mutation,
  state,     ///< what calls leave behind beside their results: generators, modes, earlier results
  relation,  ///< whether the path agrees with itself where it has to
  proof,     ///< of compilation, and of who executed
  noise,     ///< whether eager agrees with itself
  nothing,
};

/// "support", "ending", "reference", …
std::string_view name_of(Rank rank);
/// All of them, in the order in which the judge looks.
std::vector<std::string> rank_names();

/// What a status weighs where two runs are compared (record/transitions.cpp); of what fails a run,
/// what is worse comes later.
enum class Severity {
  conforms,
  nothing,  ///< nothing can be said of the path
  refused,
  fell_back,  ///< somebody else executed it, or it was not compiled
  divergence,
  error,
  crash,
};

/// "conforms", "nothing", "refused", …
std::string_view name_of(Severity severity);

/// Everything that depends on a status alone.  The table in status.cpp is its only home.
struct StatusInfo {
  Status status;
  std::string_view name;   ///< as in logs, filters and expectations
  std::string_view label;  ///< for people
  bool fails;              ///< whether a verdict with this status fails a run, unless it is known
  bool fails_strict;       ///< the same with --strict
  JunitElement junit;
  Rank rank;
  Severity severity;
  bool stderr_tells;         ///< whether what the process wrote to standard error explains it
  std::string_view meaning;  ///< one line for reports

  /// Whether every process came to an end of its own, so that there is something to judge.
  constexpr bool ended_by_itself() const { return rank > Rank::outcome; }
  /// Whether a process died, hung or lacked memory.
  constexpr bool crashed() const { return rank == Rank::outcome; }
  /// Whether the compiler was judged: it conforms, it differs, or its process died, hung or lacked
  /// memory.  Refused, incomparable and fallen-back programs are not judged.
  constexpr bool judged() const {
    return junit == JunitElement::pass || junit == JunitElement::failure ||
           (crashed() && status != Status::worker_lost);
  }
  /// Whether it fails a run and is about the path: that two eager executions disagree is not.
  constexpr bool accuses() const { return fails && rank != Rank::reference; }
  /// Whether the path diverges from eager: it was judged, and does not conform.
  constexpr bool diverges() const { return judged() && status != Status::conform; }
  /// Whether an expectation can be about it: not `conform`, which needs none, and not
  /// `unsupported`, which was not judged.
  constexpr bool expectable() const { return rank != Rank::support && rank != Rank::nothing; }
};

/// All statuses in the order of the enumeration.
std::span<const StatusInfo> all_statuses();

const StatusInfo& info(Status status);

/// The status of that name, or nullptr.
const StatusInfo* find_status(std::string_view name);

}  // namespace lockstep
