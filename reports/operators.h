#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/record.h"
#include "reports/style.h"

namespace lockstep {

/// What became of one operator and one dtype on one path.  A verdict that conforms counts for each
/// operator of its program and each dtype of its inputs; another one for those operators that its
/// fingerprints, or its explanation, accuse.
struct OperatorConformance {
  std::string path, name, dtype;  ///< "aten::sum.dim_IntList", "float16"; "none" without a tensor
  std::size_t conform = 0;
  std::size_t judged = 0;    ///< StatusInfo::judged(), those that conform among them
  std::size_t failing = 0;   ///< that fail the run
  std::size_t declared = 0;  ///< not supported, as the path declares
  /// That do not conform, and of which their fingerprints accuse others or nobody: they say nothing
  /// of this operator.
  std::size_t beside = 0;
};

/// All that a run has. Those with the most failures come first, then the lowest share that
/// conforms, then by name.
std::vector<OperatorConformance> operator_conformance(const RunRecord& record, bool strict);

/// A line for each, for people: "  50.0 %     1 of     2  aten::mul.Tensor  float16  mine".
std::string operators_text(const RunRecord& record, const Style& style, bool strict);

/// The same as JSON, for run.json (docs/reference/log.md).
nlohmann::ordered_json operators_json(const RunRecord& record, bool strict);

}  // namespace lockstep
