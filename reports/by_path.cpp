#include "reports/by_path.h"

#include <algorithm>

namespace lockstep {

std::vector<std::pair<std::string, Tally>> tally_by_path(const RunRecord& record, bool strict) {
  std::vector<std::pair<std::string, RunRecord>> parts;
  for (const PathInfo& path : record.info.paths) parts.push_back({path.name, {}});
  for (const Verdict& verdict : record.verdicts) {
    auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& candidate) {
      return candidate.first == verdict.path;
    });
    if (part == parts.end()) part = parts.insert(parts.end(), {verdict.path, {}});
    // All that a tally looks at; messages can be long.
    Verdict& bare = part->second.verdicts.emplace_back();
    bare.status = verdict.status;
    bare.standing = verdict.standing;
  }
  std::vector<std::pair<std::string, Tally>> result;
  for (const auto& [path, part] : parts) result.push_back({path, tally(part, strict)});
  return result;
}

}  // namespace lockstep
