#pragma once

#include <cstdint>

#include "plan/plan.h"

namespace lockstep {

/// The most cases in one graph. In a graph of 72 pointwise operators each costs 0.06 s, in one of
/// 24 0.11 s, in one of 8 0.21 s, and alone 1.6 s (2 cores, Inductor 2.13.0).
constexpr std::size_t kMostShared = 64;
/// Their inputs in memory, bytes; a path holds as much again for each of its executions.
constexpr std::uint64_t kMostSharedBytes = 64 << 20;

/// Makes those instances of a case neighbours that fit into one graph, such as all with gradients
/// and all without, in the order of the first of each kind.
void gather(Plan& plan);

/// Gives neighbours whose cases may share compilations (Case::share) the same shared graph; every
/// other instance gets one of its own.
///
/// A path then executes the programs of a shared graph as one first. An instance that conforms
/// there is judged. One that does not runs again alone, and only that counts. A graph that does not
/// return is taken apart.  With `alone` every instance gets a graph of its own.
void share(Plan& plan, bool alone = false);

}  // namespace lockstep
