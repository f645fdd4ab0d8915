#pragma once

#include <optional>
#include <vector>

#include "cases/inputs.h"
#include "wire/observation.h"

namespace lockstep {

/// The programs of several instances as one, so that they are compiled in one graph.  Names of
/// member k get the prefix "mk_".  Each has one call.  Nothing where two do not fit into one
/// program (can_splice); plan/share.h puts none such together.
std::optional<InputSet> join(const std::vector<const InputSet*>& members);

/// What an observation of `count` joined programs says of member k: its values, and that part of
/// the seconds that each has on average.  `joined` must have returned.
Observation part_of(const Observation& joined, std::size_t member, std::size_t count);

}  // namespace lockstep
