#include "record/fingerprints.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "record/ladder.h"

namespace lockstep {
namespace {

/// The lowest layer on which the verdict's instance has the fingerprint; empty where a layer below
/// it was not judged, or the verdict's path is no layer.
std::string beginning(const Ladder& ladder,
                      const std::vector<std::vector<Fingerprint>>& fingerprints,
                      const RunRecord& record, const Verdict& verdict, const std::string& name) {
  if (!contains(ladder.layers(), verdict.facts.path)) return {};
  for (const std::string& path : ladder.down_from(verdict.facts.path)) {
    const Verdict* layer = ladder.at(verdict.facts.instance, path);
    if (layer == nullptr || !info(layer->found.status).judged()) return {};
    for (const Fingerprint& fingerprint :
         fingerprints[static_cast<std::size_t>(layer - record.verdicts.data())]) {
      if (fingerprint.name == name) return path;
    }
  }
  return {};
}

}  // namespace

std::set<std::string> accused_by(std::string_view fingerprint) {
  std::set<std::string> operators;
  std::string_view names = operators_of(fingerprint);
  if (names.find('/') != std::string_view::npos) return operators;
  while (!names.empty()) {
    const std::size_t plus = std::min(names.find('+'), names.size());
    if (plus > 0) operators.emplace(names.substr(0, plus));
    names.remove_prefix(std::min(plus + 1, names.size()));
  }
  return operators;
}

std::set<std::string> accused_by(const Verdict& verdict) {
  std::set<std::string> operators;
  for (const Fingerprint& fingerprint : explained_fingerprints_of(verdict))
    operators.merge(accused_by(fingerprint.name));
  return operators;
}

bool is_smaller(const Verdict& a, const Verdict& b) {
  const auto size = [](const Verdict& verdict) {
    std::int64_t elements = 0;
    for (const OutputComparison& output : verdict.found.outputs) elements += output.elements;
    return std::tuple(verdict.facts.operators.size(), elements, verdict.facts.id.size(),
                      verdict.facts.id);
  };
  return size(a) < size(b);
}

std::vector<FingerprintGroup> fingerprint_groups(const RunRecord& record, bool strict) {
  const Ladder ladder(record);
  std::vector<std::string> order(ladder.layers().begin(), ladder.layers().end());
  for (const PathInfo& path : record.info.paths) {
    if (!contains(order, path.name)) order.push_back(path.name);
  }
  std::vector<std::vector<Fingerprint>>
      fingerprints;  // of each verdict, as layers that nobody explained name them
  for (const Verdict& verdict : record.verdicts) fingerprints.push_back(fingerprints_of(verdict));
  std::vector<FingerprintGroup> groups;
  std::unordered_map<std::string, std::size_t> places;
  std::vector<std::set<std::string>> paths, begins;
  for (std::size_t i = 0; i < fingerprints.size(); ++i) {
    const Verdict& verdict = record.verdicts[i];
    const std::vector<Fingerprint> explained = explained_fingerprints_of(verdict);
    for (std::size_t j = 0; j < explained.size(); ++j) {
      const Fingerprint& fingerprint = explained[j];
      const auto [place, is_new] = places.emplace(fingerprint.name, groups.size());
      if (is_new) {
        groups.emplace_back().name = fingerprint.name;
        paths.emplace_back();
        begins.emplace_back();
      }
      FingerprintGroup& group = groups[place->second];
      // Several of its fingerprints may have turned out to be one.
      if (!group.verdicts.empty() && group.verdicts.back() == &verdict) continue;
      group.verdicts.push_back(&verdict);
      group.failing += verdict.fails(strict) ? 1 : 0;
      group.alone += verdict.fails(strict) && fingerprints[i].size() == 1 ? 1 : 0;
      group.dtypes.insert(verdict.facts.dtypes.begin(), verdict.facts.dtypes.end());
      paths[place->second].insert(verdict.facts.path);
      if (std::string layer =
              beginning(ladder, fingerprints, record, verdict, fingerprints[i][j].name);
          !layer.empty())
        begins[place->second].insert(std::move(layer));
      group.grade = std::max(group.grade, fingerprint.grade);  // none is less than any
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
  std::sort(groups.begin(), groups.end(), [](const FingerprintGroup& a, const FingerprintGroup& b) {
    return std::tuple(b.failing, b.verdicts.size(), std::string_view(a.name)) <
           std::tuple(a.failing, a.verdicts.size(), std::string_view(b.name));
  });
  return groups;
}

}  // namespace lockstep
