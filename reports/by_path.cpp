#include "reports/by_path.h"

#include <algorithm>

namespace lockstep {

std::vector<std::pair<std::string, Tally>> tally_by_path(const RunRecord& record, bool strict) {
  std::vector<std::pair<std::string, Tally>> parts;
  for (const PathInfo& path : record.info.paths) parts.push_back({path.name, {}});
  for (const Verdict& verdict : record.verdicts) {
    auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& candidate) {
      return candidate.first == verdict.path;
    });
    if (part == parts.end()) part = parts.insert(parts.end(), {verdict.path, {}});
    part->second.add(verdict, strict);
  }
  return parts;
}

}  // namespace lockstep
