#include "verdict/finding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace lockstep {
namespace {

/// Who is nearer to the truth, in ulp where these are known.
std::string nearer_phrase(Nearer nearer, const std::vector<Accuracy>& accuracy) {
  if (const Accuracy* row = differing_row(accuracy)) {
    return fmt::format("there eager is {}, compiled {}", error_text(row->eager, "the truth"),
                       error_text(row->compiled, "the truth"));
  }
  return std::string(info(nearer).phrase);
}

}  // namespace

std::string describe(const FirstDifference& first, std::size_t inputs) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min(inputs, first.inputs.size()));
  const std::string where =
      shown == 0
          ? fmt::format("at [{}]", fmt::join(first.index, ", "))
          : fmt::format("{}", fmt::join(first.inputs.begin(), first.inputs.begin() + shown, ", "));
  return fmt::format("{}: eager {}, compiled {}", where, first.eager, first.compiled);
}

std::string finding(const Findings& found) {
  const auto worst = std::min_element(found.outputs.begin(), found.outputs.end(),
                                      [](const auto& a, const auto& b) {
                                        return std::pair(info(a.status).rank, -a.differing) <
                                               std::pair(info(b.status).rank, -b.differing);
                                      });
  if (worst == found.outputs.end() || worst->differing == 0) return found.reason;
  const OutputComparison& output = *worst;
  std::string text = fmt::format(
      "{}: {} of {} differ: {}", output.name, grouped(static_cast<std::uint64_t>(output.differing)),
      grouped(static_cast<std::uint64_t>(output.elements)), describe(output.classes));
  if (output.max_ulp.value_or(0) > 0) {
    text += fmt::format("; at most {} ulp", grouped(*output.max_ulp));
  }
  const FirstDifference shown =
      output.first.empty() ? FirstDifference{output.worst, {}, output.eager, output.compiled}
                           : output.first.front();
  text += fmt::format("; {}{}", output.first.empty() ? "worst " : "first ", describe(shown, 2));
  if (found.nearer) text += fmt::format("; {}", nearer_phrase(*found.nearer, output.accuracy));
  return text;
}

}  // namespace lockstep
