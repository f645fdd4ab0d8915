#include "reports/fingerprints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "reports/closing.h"
#include "reports/text.h"

namespace lockstep {
namespace {

constexpr std::size_t kFewFingerprints = 20;
constexpr std::size_t kFewPaths = 4;

std::string line_of(const Style& style, const FingerprintGroup& group) {
  const std::string name = one_line(clean(group.name));
  return fmt::format("    {}  {}\n        {}\n",
                     group.failing > 0 ? style.bad(name) : style.odd(name),
                     one_line(clean(describe(group))), style.faint(clean(group.example->facts.id)));
}

}  // namespace

std::string describe(const FingerprintGroup& group) {
  std::vector<std::string> parts;
  const std::size_t others = group.verdicts.size() - group.failing;
  if (group.failing == 0) {
    parts.push_back(counted(others, "verdict"));
  } else {
    parts.push_back(
        fmt::format("{} failing{}", grouped(group.failing),
                    others == 0 ? std::string() : fmt::format(", {} not", grouped(others))));
  }
  if (group.alone < group.failing)
    parts.push_back(
        fmt::format("a fix mends {}, the others have more fingerprints", grouped(group.alone)));
  if (!group.dtypes.empty()) parts.push_back(fmt::format("{}", fmt::join(group.dtypes, ", ")));
  std::string paths = group.paths.size() > kFewPaths
                          ? fmt::format("{} paths", group.paths.size())
                          : fmt::format("{}", fmt::join(group.paths, ", "));
  if (!group.begins.empty()) paths += fmt::format(", begins on {}", enumerate(group.begins));
  parts.push_back(std::move(paths));
  if (group.grade) parts.push_back(fmt::format("grade {}", name_of(*group.grade)));
  for (const Nearer side : {Nearer::eager, Nearer::compiled}) {
    if (const auto count = group.nearer.find(side); count != group.nearer.end())
      parts.push_back(fmt::format("{} in {}", info(side).phrase, grouped(count->second)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string fingerprints_text(const RunRecord& record, const Style& style, bool strict, bool all) {
  const std::vector<FingerprintGroup> groups = fingerprint_groups(record, strict);
  const auto among = [&](std::size_t least) {
    return static_cast<std::size_t>(
        std::count_if(groups.begin(), groups.end(),
                      [&](const FingerprintGroup& group) { return group.failing >= least; }));
  };
  const std::size_t failing = among(1), several = among(2);
  const std::size_t shown = all ? groups.size() : std::min(several, kFewFingerprints);
  if (shown == 0) return {};
  std::string text =
      fmt::format("{} of what {}:\n", counted(all ? groups.size() : failing, "fingerprint"),
                  all ? "does not conform" : "fails");
  for (std::size_t i = 0; i < shown; ++i) text += line_of(style, groups[i]);
  if (!all && failing > shown) {
    text += style.faint(fmt::format("    {}{}: {}", and_more(failing - shown),
                                    several > shown ? "" : ", each of one verdict",
                                    report_command(record, "--fingerprints"))) +
            "\n";
  }
  return text + "\n";
}

nlohmann::ordered_json fingerprints_json(const RunRecord& record, bool strict) {
  Json fingerprints = Json::array();
  for (const FingerprintGroup& group : fingerprint_groups(record, strict)) {
    Json fingerprint = {{"name", group.name},       {"verdicts", group.verdicts.size()},
                        {"failing", group.failing}, {"alone", group.alone},
                        {"dtypes", group.dtypes},   {"paths", group.paths},
                        {"begins", group.begins}};
    if (group.grade) fingerprint["grade"] = name_of(*group.grade);
    for (const auto& [nearer, count] : group.nearer)
      fingerprint["nearer"][std::string(name_of(nearer))] = count;
    fingerprint["example"] = group.example->facts.id;
    fingerprints.push_back(std::move(fingerprint));
  }
  return fingerprints;
}

}  // namespace lockstep
