#pragma once

#include <string>
#include <vector>

#include "judge/judge.h"

namespace lockstep {

/// Compares what two executions returned and left behind, call by call: metadata, aliases, masks,
/// values.  One entry for each output and gradient, and for each input that differs or for which
/// the case has a policy; `status` of an entry says what is wrong with it.  A mutated input's
/// differences are mutation_differs.  Sharing of memory is an entry named "aliases", there only
/// when it differs.
struct ResultComparison {
  std::vector<OutputComparison> outputs;
  /// Who is nearer to the fp64 gold, for the output that is worst; empty without a gold.
  std::string nearer, sentence;
};
ResultComparison compare_results(const Repetition& eager, const Repetition& compiled,
                                 const JudgeRequest& request);

/// Names the first value that is not the same, in bits (a NaN equals a NaN) and metadata, in two
/// executions, or what shares memory in one only; empty if all are.  Values whose policy does not
/// judge positions (metadata, statistical) are left out.
std::string first_disagreement(const Repetition& a, const Repetition& b,
                               const JudgeRequest& request);

/// Place of a status in the order in which the judge looks: the lower, the sooner it decides.
int rank(Status status);

}  // namespace lockstep
