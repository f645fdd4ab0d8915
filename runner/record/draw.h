#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

/// Whether a verdict is of a random part of a run: so many percent of all ids, the same ones
/// wherever the seed is.  Each id is drawn by itself, so the part is about so large.
bool is_drawn(std::uint64_t seed, double percent, std::string_view id);

}  // namespace lockstep
