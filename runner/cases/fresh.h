#pragma once

#include <cstdint>
#include <optional>

#include "cases/case.h"

namespace lockstep {

/// The case with inputs of the same shapes, layouts and domains that nobody has seen: fills that
/// draw random numbers draw others, and so do `prepare` and the program; real elements that are
/// written out, and those of other fills, are multiplied by a number of [1/2, 1), which keeps what
/// a matrix is and a function is defined for.  Integers stay as they are: they may be indices.
/// Nothing: the case has no input that would become another one.
std::optional<Case> fresh_case(const Case& declared, std::uint64_t seed);

}  // namespace lockstep
