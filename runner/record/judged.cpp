#include "record/judged.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <map>
#include <vector>

#include "base/text.h"

namespace lockstep {
namespace {

/// Whether somebody else than the compiler is why nothing can be said, or nothing was asked of it:
/// it conforms by raising what eager raises, before a backend was given anything.
bool beyond_the_compiler(const Verdict& verdict) {
  return verdict.found.status == Status::extension || conforms_unasked(verdict.found) ||
         (verdict.found.status == Status::unsupported &&
          verdict.found.unsupported_by != UnsupportedBy::path);
}

/// Whether a verdict says nothing because somebody wrote down that it cannot: the case, which
/// demands another torch, or the path.
bool unsupported_as_declared(const Findings& found) {
  return found.status == Status::unsupported &&
         (found.unsupported_by == UnsupportedBy::case_ ||
          found.unsupported_by == UnsupportedBy::declaration);
}

/// Who writes a case wants it judged.  A sentence where no verdict of a case of the user's was.
std::string judged_nothing_of_own(const RunRecord& record) {
  std::map<std::string, const Verdict*> unjudged;  // by case file; nullptr: something was judged
  for (const Verdict& verdict : record.verdicts) {
    if (!verdict.facts.own) continue;
    const bool fine = info(verdict.found.status).judged() || unsupported_as_declared(verdict.found);
    const auto [found, is_new] = unjudged.emplace(verdict.facts.case_file, &verdict);
    if (fine) found->second = nullptr;
  }
  std::erase_if(unjudged, [](const auto& entry) { return entry.second == nullptr; });
  if (unjudged.empty()) return {};
  const auto& [file, verdict] = *unjudged.begin();
  return fmt::format("judged nothing of {}{}: {}", one_line(file, 100),
                     unjudged.size() == 1
                         ? ""
                         : fmt::format(" {} of your own cases", and_more(unjudged.size() - 1)),
                     one_line(verdict->found.reason, 200));
}

}  // namespace

std::string rate_text(std::size_t part, std::size_t whole) {
  if (whole == 0) return "–";
  const std::size_t tenths = std::max<std::size_t>(1000 * part / whole, part > 0 ? 1 : 0);
  return fmt::format("{}.{} %", tenths / 10, tenths % 10);
}

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
  // Of a shard too little may be judged by chance: the whole run is asked.
  if (record.info.shard) return {};
  if (std::string own = judged_nothing_of_own(record); !own.empty()) return own;
  const std::optional<double> least = min_judged(record.info, strict);
  const Judged counts = judged(record);
  if (!least || counts.percent() >= *least) return {};
  std::map<Status, std::size_t> others;
  for (const Verdict& verdict : record.verdicts) {
    if (!beyond_the_compiler(verdict) && !is_judged(verdict.found)) ++others[verdict.found.status];
  }
  std::vector<std::string> words;
  for (const auto& [status, count] : others)
    words.push_back(fmt::format("{} {}", count, info(status).label));
  return fmt::format(
      "judged {} of {} verdicts that could be ({}), fewer than the {} % demanded: {}",
      counts.judged, counts.could, rate_text(counts.judged, counts.could), *least,
      fmt::join(words, ", "));
}

}  // namespace lockstep
