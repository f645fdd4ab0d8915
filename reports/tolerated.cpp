#include "reports/tolerated.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "reports/story.h"
#include "reports/text.h"

namespace lockstep {
namespace {

/// Greater is worse.
auto badness(const OutputComparison& output) {
  return std::tuple(output.grade.value_or(Grade::bits), output.max_ulp.value_or(0),
                    output.max_rel.value_or(0));
}

}  // namespace

Tolerated tolerated(const Verdict& verdict) {
  Tolerated found{&verdict, nullptr, 0};
  if (verdict.found.status != Status::conform) return found;
  for (const OutputComparison& output : verdict.found.outputs) {
    if (output.status != Status::conform || output.differing == 0) continue;
    if (found.output != nullptr) ++found.more;
    if (found.output == nullptr || badness(*found.output) < badness(output)) found.output = &output;
  }
  return found;
}

std::vector<Tolerated> tolerated(const RunRecord& record) {
  std::vector<Tolerated> all;
  for (const Verdict& verdict : record.verdicts) {
    if (const Tolerated one = tolerated(verdict); one.output != nullptr) all.push_back(one);
  }
  std::stable_sort(all.begin(), all.end(), [](const Tolerated& a, const Tolerated& b) {
    return badness(*b.output) < badness(*a.output);
  });
  return all;
}

std::string describe(const Tolerated& tolerated) {
  const OutputComparison& output = *tolerated.output;
  std::string text = fmt::format("{}: {}", output.name, size_of_difference(output));
  if (!output.eager.empty() || !output.compiled.empty()) {
    text +=
        fmt::format("; worst{}: eager {}, compiled {}",
                    output.worst.empty() ? std::string()
                                         : fmt::format(" at [{}]", fmt::join(output.worst, ", ")),
                    output.eager, output.compiled);
  }
  text += fmt::format("; let pass by {}", output.policy);
  if (tolerated.more > 0) text += fmt::format(" ({})", and_more(tolerated.more));
  if (!tolerated.verdict->found.weak.empty())
    text += fmt::format("; weak: {}", tolerated.verdict->found.weak);
  return one_line(clean(text), 2000);
}

}  // namespace lockstep
