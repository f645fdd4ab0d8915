#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "reports/gate.h"

namespace lockstep {

/// The page of a gate: one HTML file that needs nothing else, and no scripts but to filter.  First
/// whether the gate is open, then what changed, what is worse first, each with what both runs
/// found and the commands that repeat it.  What is unchanged is only counted.
///
/// With the places of the page and of the suite, rows name case files and pages of runs by links,
/// as far as these are there.
///
/// Changes stop where the page would have more than `limit` bytes, and it says how many are left
/// out; gate_json has all of them.
struct GatePlaces {
  std::filesystem::path page;   ///< the folder of the page; empty: it has no place
  std::filesystem::path suite;  ///< whose files the verdicts name
};
std::string gate_page(const Gate& gate, std::size_t limit = 15'000'000,
                      const GatePlaces& places = {});

}  // namespace lockstep
