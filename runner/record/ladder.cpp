#include "record/ladder.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "paths/path.h"
#include "verdict/fault.h"

namespace lockstep {

Ladder::Ladder(const RunRecord& record) {
  std::vector<std::string> names;
  for (const PathInfo& path : record.info.paths) {
    names.push_back(path.name);
    if (!path.declared.is_object()) continue;
    const auto above = path.declared.find("above");
    if (above != path.declared.end() && above->is_string())
      above_[path.name] = above->get<std::string>();
  }
  const auto stands_on_another = [&](const std::string& name) {
    const auto below = above_.find(name);
    return below != above_.end() && contains(names, below->second);
  };
  if (std::any_of(names.begin(), names.end(), stands_on_another)) {
    std::vector<std::pair<std::size_t, std::string>> by_height;
    for (const std::string& name : names) by_height.emplace_back(down_from(name).size(), name);
    std::sort(by_height.begin(), by_height.end());
    for (auto& [height, name] : by_height) layers_.push_back(std::move(name));
  }
  std::set<std::string_view> seen;
  for (const Verdict& verdict : record.verdicts) {
    verdicts_[{verdict.facts.instance, verdict.facts.path}] = &verdict;
    if (info(verdict.found.status).diverges() && seen.insert(verdict.facts.instance).second)
      diverging_.push_back(verdict.facts.instance);
  }
}

std::vector<std::string> Ladder::down_from(const std::string& path) const {
  return lockstep::down_from(path, above_);
}

const Verdict* Ladder::at(const std::string& instance, const std::string& path) const {
  const auto found = verdicts_.find({instance, path});
  return found == verdicts_.end() ? nullptr : found->second;
}

Ladder::Descent Ladder::descend(const Verdict& verdict) const {
  const Fault fault = fault_of(verdict);
  Descent descent;
  for (const std::string& path : down_from(verdict.facts.path)) {
    const Verdict* layer = at(verdict.facts.instance, path);
    if (layer == nullptr || !info(layer->found.status).judged()) {
      descent.unknown.push_back(path);
    } else if (path == verdict.facts.path || has(*layer, fault)) {
      descent.first = &layer->facts.path;
      return descent;
    } else if (info(layer->found.status).diverges()) {
      descent.otherwise.push_back(layer);
    }
  }
  descent.first = &verdict.facts.path;
  return descent;
}

Divergence Ladder::divergence(const Verdict& verdict) const {
  if (!info(verdict.found.status).diverges()) return Divergence::none;
  return first_diverging(verdict) == verdict.facts.path ? Divergence::first : Divergence::further;
}

bool Ladder::same_code(const Verdict& verdict) const {
  const auto above = above_.find(verdict.facts.path);
  const Verdict* below =
      above == above_.end() ? nullptr : at(verdict.facts.instance, above->second);
  if (below == nullptr || !below->found.proof.is_object() || !verdict.found.proof.is_object())
    return false;
  const auto code = verdict.found.proof.find("code"), same = below->found.proof.find("code");
  return code != verdict.found.proof.end() && same != below->found.proof.end() && *code == *same &&
         code->is_string() && !code->get_ref<const std::string&>().empty();
}

const std::string& Ladder::first_diverging(const Verdict& verdict) const {
  return *descend(verdict).first;
}

std::vector<std::string> Ladder::unknown_below(const Verdict& verdict) const {
  return descend(verdict).unknown;
}

std::vector<const Verdict*> Ladder::otherwise_below(const Verdict& verdict) const {
  return descend(verdict).otherwise;
}

}  // namespace lockstep
