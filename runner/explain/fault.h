#pragma once

#include <cstddef>
#include <string>

#include "verdict/verdict.h"

namespace lockstep {

/// What a verdict is about, so that the verdicts of derived cases can be held against it.
struct Fault {
  Status status = Status::conform;
  std::string name;      ///< of the output, "grad x" or "input x"; empty: the whole execution
  std::size_t call = 0;  ///< in which it was found, from 0
  /// The class of the difference, as fingerprints have it after the colon: "eager-nan".
  std::string kind;
  bool bits = false;  ///< that output was asked to have the same bits

  bool is_value() const {
    return status == Status::value_diverges || status == Status::nonfinite_diverges;
  }
  bool is_gradient() const { return lockstep::is_gradient(name); }
  /// Whether it is about what the program returns.
  bool is_output() const { return !name.empty() && name.find(' ') == std::string::npos; }
};

/// The most serious finding of a verdict that diverges.
Fault fault_of(const Verdict& verdict);

/// The comparison of an output of one call by its name, or nullptr.
const OutputComparison* comparison_of(const Verdict& verdict, const std::string& name,
                                      std::size_t call);

/// Whether a verdict has this very fault: the status, its class, and what it is about.
bool has(const Verdict& verdict, const Fault& fault);

}  // namespace lockstep
