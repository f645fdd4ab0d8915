#pragma once

#include <vector>

#include "cases/relations.h"
#include "judge/judge.h"
#include "verdict/verdict.h"

namespace lockstep {

/// What became of the relations of a case.
struct JudgedRelations {
  /// One for each kind of relation and output that was asked.
  std::vector<RelationFinding> found;
  /// Those that the path alone breaks, or that it keeps.
  std::vector<Difference> differences;
};

/// Asks both sides of every relation between calls.  One that a side breaks counts only where the
/// fp64 gold keeps it on all inputs; without a gold it is undecided, and accuses nobody.
JudgedRelations judge_relations(const JudgeRequest& request, const Observation& eager,
                                const Observation& compiled);

}  // namespace lockstep
