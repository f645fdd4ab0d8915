#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace lockstep {

/// Places in Plan::items, ascending in each graph.
using Items = std::vector<std::size_t>;

/// Items that a machine is given at a time.
struct Chunk {
  Items items;
  double seconds = 0;  ///< that one execution after the other is expected to take
};

/// Items, one graph each.
std::vector<Items> by_graph(const Plan& plan, const Items& items);

/// The items that `skip` does not skip, as chunks for a cluster whose size nobody knows: of whole
/// graphs, but for those that take far too long, of which an instance stays whole.  What takes
/// longest comes first, in ever smaller chunks: so all machines end at about the same time.
/// `seconds` is what verdicts took in an earlier run, by their ids.
std::vector<Chunk> chunks_of(const Plan& plan, const std::vector<bool>& skip,
                             const std::map<std::string, double>& seconds);

}  // namespace lockstep
