#pragma once

#include <set>
#include <string>
#include <vector>

#include "record/gate.h"

namespace lockstep {

/// What happened once, however many verdicts show it: changes of one transition whose verdicts
/// have the same fingerprints. Points into the gate and its records.
struct GateRow {
  Transition transition = Transition::changed;
  /// The fingerprints, "softshrink:eager-nan". Of what has none, as a verdict that conforms or is
  /// gone, its case; of what is no verdict the change's id.
  std::string name;
  std::vector<const GatedChange*> changes;  ///< in the order of the gate
  bool fails = false;
  const Allowance* allowed = nullptr;
  const ExpectationRef* known = nullptr;  ///< which accounts for all of them, or null
  std::set<std::string> paths, dtypes;    ///< of the verdicts
  /// Whom the verdicts accuse; of those that accuse nobody, as what conforms or is gone, those of
  /// the programs.
  std::set<std::string> operators;
  std::set<std::string> links;  ///< reports: of the expectations and the cases; https
  /// Who did it, where `explain` has said so of one of them: a sentence; else empty.
  std::string explained;
  const GatedChange* example = nullptr;  ///< the smallest (is_smaller); of no verdict the first
  bool is_of_verdicts() const { return example->told != nullptr; }
};

/// One row for each, worst first: by transition, then what fails, then what nothing accounts for,
/// then what most verdicts show.
std::vector<GateRow> rows_of(const Gate& gate);

/// The rows that close the gate, counted.
struct ClosingRows {
  std::size_t rows = 0, verdicts = 0;
  std::size_t known = 0;     ///< rows that an expectation accounts for
  std::size_t reported = 0;  ///< rows with a report
};
ClosingRows closing_rows(const std::vector<GateRow>& rows);

}  // namespace lockstep
