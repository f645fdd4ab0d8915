#pragma once

#include "wire/observation.h"

namespace lockstep {

/// One observation of a job's parts: what the last one saw, with the seconds of every stage, the
/// larger memory, and what only those before know: the proof of compilation, the reference, the
/// standard error.  `before` returned.
Observation join_parts(const Observation& before, Observation last);

}  // namespace lockstep
