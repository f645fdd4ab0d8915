#pragma once

#include <string>

#include "verdict/kinds.h"
#include "verdict/status.h"

namespace lockstep {

/// The expectation that a verdict matched or missed.
struct ExpectationRef {
  std::string file;  ///< with line: "expected/known/inductor.json:12"
  Status status = Status::value_diverges;
  Because because = Because::bug;
  std::string reason;
  std::string link;
  bool added = false;  ///< it, or another that is needed beside it, is of a --known file
  /// It, and all others that are needed beside it, speak of every path (`"paths": ["*"]`): what
  /// they expect is no fault of one compiler.
  bool every_path = false;

  bool operator==(const ExpectationRef&) const = default;
};

/// A rule of `expected/known` that matched no verdict although its instances were run.
struct UnmatchedExpectation {
  std::string where;  ///< "expected/known/inductor.json:12"
  std::string text;   ///< what it expected
};

}  // namespace lockstep
