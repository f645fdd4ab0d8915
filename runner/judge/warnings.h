#pragma once

#include <optional>

#include "judge/judge.h"

namespace lockstep {

/// Of what the worker's own eager warns, and of what the compiled program does: in the last
/// repetition that both made with the seeds of the first, for what is said once and for all has
/// been said by then; and in calls for which nothing was compiled.  Nothing where neither warns, or
/// where nobody listened to both.
std::optional<Warnings> compare_warnings(const Observation& compiled, std::size_t reseeded);

}  // namespace lockstep
