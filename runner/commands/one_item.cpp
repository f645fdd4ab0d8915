#include "commands/one_item.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {

const PlanItem* compiled_item(const Plan& plan) {
  const PlanItem* chosen = nullptr;
  for (const PlanItem& item : plan.items) {
    const Path& path = plan.paths[item.path];
    if (path.worker != "compiled" || !path.compiles) continue;
    if (chosen == nullptr || path.name == "inductor") chosen = &item;
  }
  return chosen;
}

Error several(const std::vector<Instance>& instances, const std::string& one) {
  constexpr std::size_t kShown = 5;
  std::string message = fmt::format("found {} instances, expected one:", instances.size());
  for (std::size_t i = 0; i < std::min(kShown, instances.size()); ++i)
    message += "\n      " + instances[i].id;
  if (instances.size() > kShown) message += "\n      ...";
  return {message, one + ": name it; `ci/lockstep list` prints all that a SELECT takes"};
}

}  // namespace lockstep
