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

std::vector<Items> chunks_of(const Plan& plan, const std::vector<bool>& skip,
                             const std::map<std::string, double>& seconds) {
  const std::vector<double> expected = expected_seconds(plan, seconds);
  Items items;
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    if (!skip[i]) items.push_back(i);
  }
  std::vector<std::pair<double, Items>> graphs;
  double left = 0;
  for (Items& graph : by_graph(plan, items)) {
    double sum = 0;
    for (const std::size_t item : graph) sum += expected[item];
    left += sum;
    graphs.emplace_back(sum, std::move(graph));
  }
  // Where nothing is known, all are equal, and the order of the plan stays.
  if (!seconds.empty())
    std::stable_sort(graphs.begin(), graphs.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Items> chunks;
  double missing = 0;  // in the last chunk
  for (const auto& [sum, graph] : graphs) {
    if (missing <= 0) {
      chunks.emplace_back();
      missing = std::clamp(left * kPart, kLeast, kMost);
    }
    chunks.back().insert(chunks.back().end(), graph.begin(), graph.end());
    missing -= sum;
    left -= sum;
  }
  return chunks;
}

}  // namespace lockstep
