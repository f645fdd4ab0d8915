#include "record/causes.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "record/ladder.h"

namespace lockstep {
namespace {

/// The lowest rung on which the verdict's instance has the cause; empty where a rung below it was
/// not judged, or the verdict's path is no rung.
std::string beginning(const Ladder& ladder, const std::vector<std::vector<Cause>>& causes,
                      const RunRecord& record, const Verdict& verdict, const std::string& name) {
  if (!contains(ladder.rungs(), verdict.facts.path)) return {};
  for (const std::string& path : ladder.down_from(verdict.facts.path)) {
    const Verdict* rung = ladder.at(verdict.facts.instance, path);
    if (rung == nullptr || !info(rung->found.status).judged()) return {};
    for (const Cause& cause : causes[static_cast<std::size_t>(rung - record.verdicts.data())]) {
      if (cause.name == name) return path;
    }
  }
  return {};
}

}  // namespace

bool is_smaller(const Verdict& a, const Verdict& b) {
  const auto size = [](const Verdict& verdict) {
    std::int64_t elements = 0;
    for (const OutputComparison& output : verdict.found.outputs) elements += output.elements;
    return std::tuple(verdict.facts.operators.size(), elements, verdict.facts.id.size(),
                      verdict.facts.id);
  };
  return size(a) < size(b);
}

std::vector<CauseGroup> cause_groups(const RunRecord& record, bool strict) {
  const Ladder ladder(record);
  std::vector<std::string> order(ladder.rungs().begin(), ladder.rungs().end());
  for (const PathInfo& path : record.info.paths) {
    if (!contains(order, path.name)) order.push_back(path.name);
  }
  std::vector<std::vector<Cause>>
      causes;  // of each verdict, as rungs that nobody explained name them
  for (const Verdict& verdict : record.verdicts) causes.push_back(causes_of(verdict));
  std::vector<CauseGroup> groups;
  std::unordered_map<std::string, std::size_t> places;
  std::vector<std::set<std::string>> paths, begins;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const Verdict& verdict = record.verdicts[i];
    const std::vector<Cause> explained = explained_causes_of(verdict);
    for (std::size_t j = 0; j < explained.size(); ++j) {
      const Cause& cause = explained[j];
      const auto [place, is_new] = places.emplace(cause.name, groups.size());
      if (is_new) {
        groups.emplace_back().name = cause.name;
        paths.emplace_back();
        begins.emplace_back();
      }
      CauseGroup& group = groups[place->second];
      // Several of its causes may have turned out to be one.
      if (!group.verdicts.empty() && group.verdicts.back() == &verdict) continue;
      group.verdicts.push_back(&verdict);
      group.failing += verdict.fails(strict) ? 1 : 0;
      group.alone += verdict.fails(strict) && causes[i].size() == 1 ? 1 : 0;
      group.dtypes.insert(verdict.facts.dtypes.begin(), verdict.facts.dtypes.end());
      paths[place->second].insert(verdict.facts.path);
      if (std::string rung = beginning(ladder, causes, record, verdict, causes[i][j].name);
          !rung.empty())
        begins[place->second].insert(std::move(rung));
      group.grade = std::max(group.grade, cause.grade);  // none is less than any
      if (verdict.found.nearer) ++group.nearer[*verdict.found.nearer];
      if (group.example == nullptr || is_smaller(verdict, *group.example)) group.example = &verdict;
    }
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const std::string& path : order) {
      if (paths[i].erase(path) > 0) groups[i].paths.push_back(path);
      if (begins[i].contains(path)) groups[i].begins.push_back(path);
    }
    // A log may name paths that its run does not.
    groups[i].paths.insert(groups[i].paths.end(), paths[i].begin(), paths[i].end());
  }
  std::sort(groups.begin(), groups.end(), [](const CauseGroup& a, const CauseGroup& b) {
    return std::tuple(b.failing, b.verdicts.size(), std::string_view(a.name)) <
           std::tuple(a.failing, a.verdicts.size(), std::string_view(b.name));
  });
  return groups;
}

}  // namespace lockstep
