#include "run/chunks.h"

#include <algorithm>
#include <utility>

#include "plan/units.h"

namespace lockstep {
namespace {

/// A machine gets this part of its share of the rest. If it is smaller, all machines end more
/// evenly, but need more messages.
constexpr double kPartOfShare = 0.25;
/// Seconds of a chunk, for each execution at a time: below the least, telling would cost more than
/// it evens out; above the most, too much would be lost with a machine.
constexpr double kLeastSeconds = 1, kMostSeconds = 60;
/// Seconds of a part of a graph, at least: each part is compiled by itself.
constexpr double kLeastOfGraph = 10;

}  // namespace

ChunkPool::ChunkPool(const Plan& plan, const std::vector<bool>& skip,
                     const std::map<std::string, double>& seconds)
    : plan_(plan), expected_(expected_seconds(plan, seconds)) {
  std::vector<std::size_t> items;
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    if (!skip[i]) items.push_back(i);
  }
  put_back(items);
  // Where nothing is known, all are equal, and the order of the plan stays.
  std::stable_sort(graphs_.begin(), graphs_.end(),
                   [](const Chunk& a, const Chunk& b) { return a.seconds > b.seconds; });
}

Chunk ChunkPool::take(std::size_t jobs, std::size_t slots) {
  const auto executions = static_cast<double>(jobs);
  const double fair = left_ * executions / static_cast<double>(std::max(slots, jobs));
  const double wanted = std::clamp(fair * kPartOfShare, kLeastSeconds * executions / factor(),
                                   kMostSeconds * executions / factor());
  Chunk chunk;
  while (!graphs_.empty() && chunk.seconds < wanted) {
    const Chunk graph = take_graph(fair, std::max(wanted, kLeastOfGraph / factor()));
    chunk.items.insert(chunk.items.end(), graph.items.begin(), graph.items.end());
    chunk.seconds += graph.seconds;
  }
  return chunk;
}

Chunk ChunkPool::take_graph(double fair, double part_seconds) {
  Chunk graph = std::move(graphs_.front());
  graphs_.pop_front();
  // Below two parts the rest would be less than one.
  if (graph.seconds > std::max(fair, 2 * part_seconds)) {
    Chunk part;
    auto next = graph.items.begin();
    const auto instance = [&](std::size_t item) { return plan_.items[item].instance; };
    while (next != graph.items.end() &&
           (part.seconds < part_seconds || instance(*next) == instance(part.items.back()))) {
      part.seconds += expected_[*next];
      part.items.push_back(*next++);
    }
    Chunk rest{{next, graph.items.end()}, graph.seconds - part.seconds};
    if (!rest.items.empty()) graphs_.push_front(std::move(rest));
    graph = std::move(part);
  }
  left_ -= graph.seconds;
  return graph;
}

double ChunkPool::idle_in(const std::vector<Chunk>& chunks, std::size_t jobs) const {
  std::vector<double> slots(jobs, 0);
  for (const Chunk& chunk : chunks) {
    for (const Chunk& graph : by_graph(chunk.items))
      *std::min_element(slots.begin(), slots.end()) += graph.seconds;
  }
  return *std::min_element(slots.begin(), slots.end()) * factor();
}

void ChunkPool::learn(std::size_t item, double seconds) {
  expected_of_known_ += expected_[item];
  took_ += seconds;
}

double ChunkPool::factor() const {
  // What is short is known first, and decides too much.
  constexpr double kEnough = 20, kFarthest = 4;
  if (expected_of_known_ < kEnough) return 1;
  return std::clamp(took_ / expected_of_known_, 1 / kFarthest, kFarthest);
}

Chunk ChunkPool::take_lost() {
  Chunk chunk = std::move(lost_.front());
  lost_.pop_front();
  return chunk;
}

void ChunkPool::put_back(const std::vector<std::size_t>& items) {
  std::vector<Chunk> graphs = by_graph(items);
  for (const Chunk& graph : graphs) left_ += graph.seconds;
  graphs_.insert(graphs_.begin(), std::make_move_iterator(graphs.begin()),
                 std::make_move_iterator(graphs.end()));
}

void ChunkPool::put_lost(const std::vector<std::size_t>& items) {
  for (Chunk& graph : by_graph(items)) {
    graph.alone = true;
    lost_.push_back(std::move(graph));
  }
}

std::vector<Chunk> ChunkPool::by_graph(const std::vector<std::size_t>& items) const {
  std::vector<Chunk> graphs;
  std::size_t last = 0;
  for (const std::size_t item : items) {
    const std::size_t graph = plan_.instances[plan_.items[item].instance].shared_graph;
    if (graphs.empty() || graph != last) graphs.emplace_back();
    last = graph;
    graphs.back().items.push_back(item);
    graphs.back().seconds += expected_[item];
  }
  return graphs;
}

}  // namespace lockstep
