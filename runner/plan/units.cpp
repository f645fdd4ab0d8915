#include "plan/units.h"

#include <algorithm>

namespace lockstep {

std::vector<Unit> units_of(const Plan& plan) {
  std::vector<Unit> units;
  for (std::size_t i = 0; i < plan.instances.size(); ++i) {
    const bool same = i > 0 && plan.instances[i].shared_graph == plan.instances[i - 1].shared_graph;
    if (!same) units.push_back({i, i});
    units.back().end = i + 1;
  }
  return units;
}

std::vector<double> expected_seconds(const Plan& plan,
                                     const std::map<std::string, double>& seconds) {
  std::vector<double> known, expected;
  for (const PlanItem& item : plan.items) {
    const auto found = seconds.find(item.id);
    expected.push_back(found == seconds.end() ? -1 : found->second);
    if (found != seconds.end()) known.push_back(found->second);
  }
  std::sort(known.begin(), known.end());
  const double median = known.empty() ? 1 : known[known.size() / 2];
  for (double& each : expected) {
    if (each < 0) each = median;
  }
  return expected;
}

}  // namespace lockstep
