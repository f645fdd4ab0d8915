#include "record/judged.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <vector>

namespace lockstep {
namespace {

/// Whether somebody else than the compiler is why nothing can be said, or nothing was asked of it:
/// it conforms by raising what eager raises, before a backend was given anything.
bool beyond_the_compiler(const Verdict& verdict) {
  return verdict.found.status == Status::extension || conforms_unasked(verdict.found) ||
         (verdict.found.status == Status::unsupported &&
          verdict.found.unsupported_by != UnsupportedBy::path);
}

}  // namespace

double Judged::percent() const {
  return could == 0 ? 100 : 100 * static_cast<double>(judged) / static_cast<double>(could);
}

Judged judged(const RunRecord& record) {
  Judged result;
  for (const Verdict& verdict : record.verdicts) {
    if (beyond_the_compiler(verdict)) continue;
    ++result.could;
    result.judged += is_judged(verdict.found);
  }
  return result;
}

std::optional<double> min_judged(const RunInfo& info, bool strict) {
  if (info.min_judged || !strict) return info.min_judged;
  return kMinJudged;
}

std::string judged_too_little(const RunRecord& record, bool strict) {
  const std::optional<double> least = min_judged(record.info, strict);
  const Judged counts = judged(record);
  // Of a shard too little may be judged by chance: the whole run is asked.
  if (!least || record.info.shard || counts.percent() >= *least) return {};
  std::map<Status, std::size_t> others;
  for (const Verdict& verdict : record.verdicts) {
    if (!beyond_the_compiler(verdict) && !is_judged(verdict.found)) ++others[verdict.found.status];
  }
  std::vector<std::string> words;
  for (const auto& [status, count] : others)
    words.push_back(fmt::format("{} {}", count, info(status).label));
  return fmt::format(
      "judged {} of {} verdicts that could be ({:.1f} %), fewer than the {} % demanded: {}",
      counts.judged, counts.could, counts.percent(), *least, fmt::join(words, ", "));
}

}  // namespace lockstep
