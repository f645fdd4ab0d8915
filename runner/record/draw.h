#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"

namespace lockstep {

/// Whether a verdict belongs to a random part of a run: a share of all ids, the same for the same
/// seed. Each id is drawn by itself, so the part is about so large.
bool is_drawn(std::uint64_t seed, double percent, std::string_view id);

/// A seed that nobody chooses: it follows from a text, from torch, and from the packages of the
/// workers.  `environment` is as a record has it (RunRecord::environment).
std::uint64_t seed_by_packages(std::string_view text, const Json& environment);

}  // namespace lockstep
