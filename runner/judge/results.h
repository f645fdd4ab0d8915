#pragma once

#include <string>
#include <vector>

#include "judge/judge.h"

namespace lockstep {

/// Compares what two executions returned and left behind, call by call: metadata, aliases, masks,
/// values.  One entry for each output and gradient, and for each input that differs or for which
/// the case has a policy.  Values are compared although metadata differ, where these leave
/// something to compare.  A mutated input's differences are mutation_diverges.  Sharing of memory
/// is an entry named "aliases", there only when it differs.
struct ResultComparison {
  std::vector<OutputComparison> outputs;
  /// All that is wrong with them, in the order of the ranks of the statuses.
  std::vector<Difference> differences;
  /// Whether all values could be compared: nothing bounds what a tensor of another shape holds.
  bool comparable = true;
  /// Who is nearer to the fp64 gold, for the output that is worst, one that is not ill-conditioned
  /// if there is such; nothing without a gold.
  std::optional<Nearer> nearer;
  std::string sentence;
  std::size_t nearer_of = 0;  ///< which of `outputs`
};
/// `repetition` is that of both, from 0: golds are made for the seeds of the first one, and of the
/// one that has others (JudgeRequest::reseeded).
///
/// Calls that only one side has are left out.  Of a compiled program that raised, a call without
/// gradients is one whose backward raised: those of eager say nothing of it.
ResultComparison compare_results(const Repetition& eager, const Repetition& compiled,
                                 const JudgeRequest& request, std::size_t repetition = 0);

/// What is wrong with the inputs that a call left behind which raised on both sides, and with the
/// calls behind it; differences without a name, since no output is about them.
std::vector<Difference> compare_after_error(const AfterError& eager, const AfterError& compiled,
                                            const JudgeRequest& request);

/// Outputs whose bits stay the same with another seed although eager's change, of those that count
/// only by dtype, shape or distribution. `first` and `other` are executions of each side with two
/// seeds. Needs at least 16 elements, so that a coincidence is unlikely.
std::vector<Difference> compare_seeds(const Repetition& eager_first, const Repetition& eager_other,
                                      const Repetition& first, const Repetition& other,
                                      const JudgeRequest& request);

/// Whether a case asks of an output only what any random numbers meet.
bool accepts_any_numbers(const JudgeRequest& request, const std::string& name,
                         const DataValue& value);

/// Whether two values have the same bits; a NaN equals a NaN.
bool same_bits(const DataValue& a, const DataValue& b);

/// Puts what is wrong in the order of the statuses' ranks; within a rank, as it was.
void sort_by_rank(std::vector<Difference>& differences);

/// "y, call 2" of several calls.
std::string with_call(std::string full_name, std::size_t call, std::size_t calls);

/// The value that an OutputComparison of that name is about; nullptr if there is none.
const DataValue* find_output(const Repetition& calls, std::string_view name);

/// Names the first value that is not the same, in bits (a NaN equals a NaN) and metadata, in two
/// executions, or what shares memory in one only; empty if all are.  Values whose policy does not
/// judge positions (metadata, statistical) are left out.
std::string first_disagreement(const Repetition& a, const Repetition& b,
                               const JudgeRequest& request);

}  // namespace lockstep
