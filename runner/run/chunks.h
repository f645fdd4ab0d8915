#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace lockstep {

/// Items of a plan that one machine is given at a time: of whole shared graphs, but for those that
/// take longer than a machine's fair, and as far as they have no verdict.
struct Chunk {
  std::vector<std::size_t> items;  ///< places in Plan::items, ascending in each graph
  double seconds = 0;              ///< that one execution after the other is expected to take
  /// It was lost with a machine: nothing else may be under way there beside it, so that a second
  /// loss is its own.
  bool alone = false;
};

/// The part of a plan that no machine has yet, cut into chunks. The longest graphs come first, in
/// ever smaller chunks. So all machines end at about the same time, even if they differ in speed or
/// come and go.
class ChunkPool {
 public:
  /// Of the items that `skip` does not skip; `seconds` is what verdicts took in an earlier run.
  ChunkPool(const Plan& plan, const std::vector<bool>& skip,
            const std::map<std::string, double>& seconds);

  bool empty() const { return graphs_.empty() && lost_.empty(); }
  /// Whether something waits that no machine was lost with.
  bool has_more() const { return !graphs_.empty(); }
  bool has_lost() const { return !lost_.empty(); }
  /// The next chunk for a machine with `jobs` executions at a time, of `slots` in all.
  Chunk take(std::size_t jobs, std::size_t slots);
  /// The next one of those that were lost: one graph.
  Chunk take_lost();
  /// Records how long an item took, and rescales the estimates of the others.
  void learn(std::size_t item, double seconds);
  /// The seconds until the first of `jobs` slots is idle, if the rest of these chunks begins now.
  double idle_in(const std::vector<Chunk>& chunks, std::size_t jobs) const;
  /// Puts items back that were given to a machine which does not execute them.
  void put_back(const std::vector<std::size_t>& items);
  /// Puts items back that were lost with a machine.
  void put_lost(const std::vector<std::size_t>& items);

 private:
  /// The graph in front; where it takes longer than a machine's fair, so many seconds of it, of
  /// whole instances.
  Chunk take_graph(double fair, double part_seconds);
  /// The factor for expected seconds.
  double factor() const;
  /// Chunks of one graph each.
  std::vector<Chunk> by_graph(const std::vector<std::size_t>& items) const;

  const Plan& plan_;
  std::vector<double> expected_;  ///< seconds of each item
  std::deque<Chunk> graphs_;      ///< one graph each, what takes longest in front
  std::deque<Chunk> lost_;
  double left_ = 0;                          ///< expected seconds of `graphs_`
  double expected_of_known_ = 0, took_ = 0;  ///< of all that learn was told
};

}  // namespace lockstep
