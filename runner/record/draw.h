#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

/// Whether a verdict belongs to a random part of a run: a share of all ids, the same for the same
/// seed. Each id is drawn by itself, so the part is about so large.
bool is_drawn(std::uint64_t seed, double percent, std::string_view id);

}  // namespace lockstep
