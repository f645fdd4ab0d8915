#include "reports/by_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/json.h"

namespace lockstep {

std::vector<std::pair<std::string, Tally>> tally_by_path(const RunRecord& record, bool strict) {
  std::vector<std::pair<std::string, Tally>> parts;
  std::unordered_map<std::string_view, std::size_t> places;
  const auto place_of = [&](const std::string& path) {
    const auto [place, is_new] = places.try_emplace(path, parts.size());
    if (is_new) parts.push_back({path, {}});
    return place->second;
  };
  for (const PathInfo& path : record.info.paths) place_of(path.name);
  for (const Verdict& verdict : record.verdicts)
    parts[place_of(verdict.facts.path)].second.add(verdict, strict);
  return parts;
}

RatesByPath rates_by_path(const RunRecord& record) {
  RatesByPath rates;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const auto& [path, counts] : tally_by_path(record, false))
    rates.paths.push_back({path, {}, {}});
  for (RatesByPath::Of& each : rates.paths) places.emplace(each.path, places.size());
  std::unordered_map<std::string_view, std::set<std::size_t>> judging;  // paths, by instance
  for (const Verdict& verdict : record.verdicts) {
    const std::size_t place = places.at(verdict.facts.path);
    rates.paths[place].own.add(verdict);
    if (info(verdict.found.status).judged()) judging[verdict.facts.instance].insert(place);
  }
  const auto all = static_cast<std::size_t>(
      std::count_if(rates.paths.begin(), rates.paths.end(),
                    [](const RatesByPath::Of& each) { return each.own.judged > 0; }));
  for (const Verdict& verdict : record.verdicts) {
    const auto on = judging.find(verdict.facts.instance);
    if (on != judging.end() && on->second.size() == all)
      rates.paths[places.at(verdict.facts.path)].common.add(verdict);
  }
  std::erase_if(rates.paths, [](const RatesByPath::Of& each) { return each.own.judged == 0; });
  rates.differ = std::any_of(
      rates.paths.begin(), rates.paths.end(),
      [](const RatesByPath::Of& each) { return each.own.judged != each.common.judged; });
  return rates;
}

std::vector<std::pair<std::string, std::string>> declared_tolerances(const RunInfo& run) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const PathInfo& path : run.paths) {
    if (!path.declared.is_object() || !path.declared.contains("tolerances")) continue;
    const auto words = [](const nlohmann::ordered_json& rule, const char* key) {
      std::string text;
      if (!rule.is_object() || !rule.contains(key)) return text;
      const auto& value = rule[key];
      for (const auto& each : value.is_array() ? value : nlohmann::ordered_json::array({value})) {
        if (!text.empty()) text += ", ";
        text += plain_text(each);
      }
      return text;
    };
    for (const auto& rule : path.declared["tolerances"])
      lines.push_back(
          {path.name, fmt::format("{} of {} within rtol {}, atol {}: {}", words(rule, "operators"),
                                  words(rule, "dtypes"), words(rule, "rtol"), words(rule, "atol"),
                                  words(rule, "reason"))});
  }
  return lines;
}

}  // namespace lockstep
