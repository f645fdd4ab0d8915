#include "run/chunks.h"

#include <algorithm>
#include <utility>

#include "plan/units.h"

namespace lockstep {
namespace {

/// A chunk is this part of what is left: a quarter of its share where 64 executions go on at a
/// time.
constexpr double kPart = 1.0 / 256;
/// Seconds of a chunk.  Below the least, telling would cost more than it evens out; above the most,
/// too much would be lost with a machine.
constexpr double kLeast = 1, kMost = 60;
/// Seconds of a part of a graph, at least: each part is compiled by itself.
constexpr double kLeastOfGraph = 10;

}  // namespace

std::vector<Items> by_graph(const Plan& plan, const Items& items) {
  std::vector<Items> graphs;
  const auto graph = [&](std::size_t item) {
    return plan.instances[plan.items[item].instance].shared_graph;
  };
  for (const std::size_t item : items) {
    if (graphs.empty() || graph(graphs.back().back()) != graph(item)) graphs.emplace_back();
    graphs.back().push_back(item);
  }
  return graphs;
}

std::vector<Chunk> chunks_of(const Plan& plan, const std::vector<bool>& skip,
                             const std::map<std::string, double>& seconds) {
  const std::vector<double> expected = expected_seconds(plan, seconds);
  Items items;
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    if (!skip[i]) items.push_back(i);
  }
  double left = 0;
  for (const std::size_t item : items) left += expected[item];
  // Whether a graph takes long is known from an earlier run alone.
  const double part = seconds.empty() ? left : std::max(kLeastOfGraph, left * kPart);
  std::vector<Chunk> graphs, chunks;
  for (const Items& graph : by_graph(plan, items)) {
    double rest = 0;
    for (const std::size_t item : graph) rest += expected[item];
    graphs.emplace_back();
    for (const std::size_t item : graph) {
      const bool same =
          !graphs.back().items.empty() &&
          plan.items[item].instance == plan.items[graphs.back().items.back()].instance;
      if (!same && graphs.back().seconds >= part && rest >= part) graphs.emplace_back();
      graphs.back().seconds += expected[item];
      graphs.back().items.push_back(item);
      rest -= expected[item];
    }
  }
  // Where nothing is known, all are equal, and the order of the plan stays.
  if (!seconds.empty())
    std::stable_sort(graphs.begin(), graphs.end(),
                     [](const Chunk& a, const Chunk& b) { return a.seconds > b.seconds; });
  double wanted = 0;
  for (const Chunk& graph : graphs) {
    if (chunks.empty() || chunks.back().seconds >= wanted) {
      chunks.emplace_back();
      wanted = std::clamp(left * kPart, kLeast, kMost);
    }
    chunks.back().items.insert(chunks.back().items.end(), graph.items.begin(), graph.items.end());
    chunks.back().seconds += graph.seconds;
    left -= graph.seconds;
  }
  return chunks;
}

}  // namespace lockstep
