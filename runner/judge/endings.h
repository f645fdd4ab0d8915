#pragma once

#include <optional>
#include <string>

#include "judge/judge.h"

namespace lockstep {

/// A status that the way in which the executions ended decides, and why.
struct Ending {
  Status status = Status::conform;
  std::string reason;
};

/// Judges how eager and compiled ended: whether the reference raises what the case says, then the
/// table of the design.  Nothing when both returned, so that their results are to be compared.
/// `compiles`: the path runs eager Python first, then what it compiled; who died in the stages
/// `prepare` and `eager` is not the compiler, and the status is `harness`.
std::optional<Ending> judge_endings(const Observation& eager, const Observation& compiled,
                                    const std::optional<RaisesRule>& raises, bool compiles = true);

/// Why the error is not the one that the case is about, or empty if it is.  An Error if the pattern
/// is none (base/pattern.h).
Result<std::string> raises_difference(const RaisesRule& rule, const RaisedError& error);

/// "RuntimeError: mat1 and mat2 shapes cannot be multiplied", one line.
std::string describe(const RaisedError& error);

}  // namespace lockstep
