#pragma once

#include <cstdint>

#include "plan/plan.h"

namespace lockstep {

/// What is compiled in one graph at most: a graph of 72 pointwise operators costs 0.06 s for each
/// of them, one of 24 0.11 s, one of 8 0.21 s, and one alone 1.6 s (2 cores, Inductor 2.13.0).
constexpr std::size_t kMostShared = 64;
/// Their inputs in memory, bytes; a path holds as much again for each of its executions.
constexpr std::uint64_t kMostSharedBytes = 64 << 20;

/// Gives neighbours whose cases may share compilations (Case::share) the same shared graph; every
/// other instance gets one of its own.
///
/// A path then executes the programs of a shared graph as one first.  What conforms there is
/// judged; what does not, runs alone, and only that counts.  A graph that does not return is
/// taken apart.  With `alone` every instance gets a graph of its own.
void share(Plan& plan, bool alone = false);

}  // namespace lockstep
