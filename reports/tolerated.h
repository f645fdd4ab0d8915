#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace lockstep {

/// An output that conforms although it is not what eager computed: a policy let it pass.
struct Tolerated {
  const Verdict* verdict = nullptr;
  const OutputComparison* output = nullptr;  ///< the worst of those of the verdict
  std::size_t more = 0;                      ///< other outputs of the verdict that differ, too
};

/// What was tolerated of a verdict; `output` is null if nothing was.
Tolerated tolerated(const Verdict& verdict);

/// What a run tolerated, worst first: by grade, then by ulp, then relative, then in the order of
/// the plan.  Points into the record.
std::vector<Tolerated> tolerated(const RunRecord& record);

/// "y: 17 of 20 differ, at most 3 ulp, 8.4e-04, relative 2.1e-03; worst at [0, 3]: eager 1.5,
/// compiled 1.501; let pass by no_worse(1)", and why it is weak, if it is.
std::string describe(const Tolerated& tolerated);

}  // namespace lockstep
