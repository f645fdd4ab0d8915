#include "judge/combine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace lockstep {
namespace {

/// Greater is worse: failing, then undecided, then conforming; and then the grade.
auto badness(const Findings& found) {
  const StatusInfo& status = info(found.status);
  const int kind = status.fails ? 3 : status.fails_strict ? 2 : status.junit != JunitElement::pass;
  return std::tuple(kind, found.grade ? static_cast<int>(*found.grade) : -1);
}

}  // namespace

Combined combine(std::vector<Findings> rounds) {
  std::map<Status, std::size_t> counts;
  bool same_numbers = true;
  for (const Findings& round : rounds) {
    ++counts[round.status];
    same_numbers = same_numbers && round.outputs == rounds.front().outputs;
  }
  const auto worst = std::max_element(
      rounds.begin(), rounds.end(),
      [](const Findings& a, const Findings& b) { return badness(a) < badness(b); });
  Combined combined{std::move(*worst), static_cast<std::size_t>(worst - rounds.begin())};
  Findings& result = combined.found;
  if (rounds.size() > 1) {
    for (const auto& [status, count] : counts) result.executions[status] = static_cast<int>(count);
  }
  if (counts.size() == 1 && same_numbers) return combined;
  result.unstable = true;
  if (counts.size() == 1) return combined;
  std::string text;
  for (const auto& [status, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", info(status).name,
                        count == 1 ? "once" : fmt::format("{} times", count));
  result.reason = fmt::format("{} executions disagree ({}){}{}", rounds.size(), text,
                              result.reason.empty() ? "" : ": ", result.reason);
  return combined;
}

}  // namespace lockstep
