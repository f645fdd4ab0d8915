#include "run/scope.h"

#include <algorithm>
#include <set>

namespace lockstep {

ExpectationScope scope_of(const PlanRequest& request, const Plan& plan, bool whole_suite) {
  ExpectationScope scope;
  scope.whole_suite = whole_suite;
  scope.devices = plan.devices;
  std::vector<std::set<std::size_t>> paths_of(plan.instances.size());
  std::set<std::size_t> used;
  for (const PlanItem& item : plan.items) {
    paths_of[item.instance].insert(item.path);
    used.insert(item.path);
  }
  // Of an instance that runs on a part of the paths nothing can be told.
  std::set<std::string> ran;
  for (std::size_t i = 0; i < plan.instances.size(); ++i) {
    if (!request.filter.excludes_paths() || paths_of[i] == used) ran.insert(plan.instances[i].id);
  }
  for (const CaseFile& file : *request.suite) {
    for (const MatrixChoice& choice : file.choices) {
      for (const std::string& device : plan.devices) {
        const std::string id = file.id + choice.suffix + "@" + device;
        scope.instances.push_back({file.id, id, ran.contains(id)});
      }
    }
  }
  // Terms that look at single verdicts make paths partial: then nothing can be told.
  const std::vector<std::string> ids = request.filter.ids();
  const bool single = std::any_of(ids.begin(), ids.end(), [](const std::string& id) {
    const std::size_t at = id.find('@');
    return at != std::string::npos && id.find('/', at) != std::string::npos;
  });
  // So do paths that only a part of an expression asks for.
  if (single || request.filter.mentions(FilterSource::log) ||
      (!request.filter.is_plain() && request.filter.mentions("path")))
    return scope;
  for (const std::size_t path : used) scope.paths.push_back(plan.paths[path].name);
  return scope;
}

}  // namespace lockstep
