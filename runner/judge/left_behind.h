#pragma once

#include <vector>

#include "judge/judge.h"

namespace lockstep {

/// What calls left behind beside their results, where that differs: modes, the states of random
/// generators, versions of inputs, memory that stays, results of earlier calls that later ones have
/// overwritten.  Of each the first place is told; what only one side observed is not compared.  The
/// reasons begin with the words that fingerprints are named by: "mode grad: …", "generator cpu: …",
/// "version: …", "memory: …", "overwritten: …" (verdict/fingerprint.h).
///
/// States of generators are compared where the path draws eager's numbers: not where its
/// configuration says otherwise (JudgeRequest::own_random), nor where the case asks of an output
/// only what any numbers meet.
std::vector<Difference> left_behind(const Observation& eager, const Observation& compiled,
                                    const JudgeRequest& request);

/// What a compiled program that raised left behind: where eager raised too, the inputs of the call
/// and which call that was; and always the modes.  A compiler may find an error before anything has
/// run, so that the generators say nothing.
std::vector<Difference> left_after_error(const Observation& eager, const Observation& compiled,
                                         const JudgeRequest& request);

}  // namespace lockstep
