#pragma once

#include <optional>
#include <span>
#include <string>

#include "judge/judge.h"

namespace lockstep {

/// A status that the way in which the executions ended decides, and why.
struct OutcomeFinding {
  Status status = Status::conform;
  std::string reason;
  bool declared = false;  ///< the path declares that such an error means `unsupported`
};

/// What judge_outcomes goes by.
struct OutcomeRules {
  std::optional<RaisesRule> raises = std::nullopt;  ///< of the case
  std::span<const RefusalRule> refuses = {};        ///< of the path
  std::string device = "cpu";                       ///< where eager was executed
  /// The path runs eager Python first, then what it compiled: who died in the stages `prepare` and
  /// `eager` is not the compiler, and the status is `harness`.
  bool compiles = true;
};

/// Judges how eager and compiled ended: whether the reference raises what the case says, then who
/// raised, in this order:
///   both raise the same class, and the text that the case asks for    conform
///   eager raises NotImplementedError, which the case does not name: there is no program to
///     compile, and whatever compiled code says is nothing against it  unsupported; conform where
///                                                     the case is about an error, whichever
///   compiled raises what the path declares to mean so                 unsupported, declared
///   compiled refuses, by its worker's word                            refused
///   the compiler itself failed, by its worker's word                  internal_error
///   else                                                              error_diverges where eager
///                                                                     raises, or spurious_error
/// Nothing when both returned, so that their results are to be compared.
std::optional<OutcomeFinding> judge_outcomes(const Observation& eager, const Observation& compiled,
                                             const OutcomeRules& rules = {});

/// Whether Dynamo, as torch has it, raises the same class of the program for a backend that
/// compiles nothing, and the path's own backend raised nothing: then the error says nothing of the
/// path.
bool is_of_front_end(const Observation& compiled);

/// Why the error is not the one that the case is about, or empty if it is.  An Error if the pattern
/// is none (base/pattern.h).
Result<std::string> raises_difference(const RaisesRule& rule, const RaisedError& error);

/// "RuntimeError: mat1 and mat2 shapes cannot be multiplied", one line, with what else is known of
/// the place: "AssertionError: no (target: aten.sort.default)".
std::string describe(const RaisedError& error);

/// The most useful line of a process's standard error: the last one about an error, else the last
/// one; empty if it wrote nothing.
std::string telling_line(std::string_view stderr_tail);

}  // namespace lockstep
