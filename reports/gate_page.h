#pragma once

#include <cstddef>
#include <string>

#include "reports/gate.h"

namespace lockstep {

/// The page of a gate: one HTML file that needs nothing else, and no scripts but to filter.  First
/// whether the gate is open, then what changed, what is worse first, each with what both runs
/// found and the commands that repeat it.  What is unchanged is only counted.
///
/// Changes stop where the page would have more than `limit` bytes, and it says how many are left
/// out; gate_json has all of them.
std::string gate_page(const Gate& gate, std::size_t limit = 15'000'000);

}  // namespace lockstep
