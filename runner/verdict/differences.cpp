#include "verdict/differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 6> kGrades = {"bits",      "ulp4",     "close",
                                                     "no_worse1", "same1e-3", "none"};

}  // namespace

std::string_view name_of(Grade grade) { return kGrades[static_cast<std::size_t>(grade)]; }

std::optional<Grade> find_grade(std::string_view name) {
  const auto found = std::find(kGrades.begin(), kGrades.end(), name);
  if (found == kGrades.end()) return std::nullopt;
  return static_cast<Grade>(found - kGrades.begin());
}

std::string describe(const DifferenceClasses& classes) {
  const std::pair<std::int64_t, std::string_view> counts[] = {{classes.nan, "NaN"},
                                                              {classes.infinity, "infinity"},
                                                              {classes.zero_sign, "sign of zero"},
                                                              {classes.subnormal, "subnormal"},
                                                              {classes.last_bits, "last bits"},
                                                              {classes.value, "value"}};
  std::vector<std::string> texts;
  for (const auto& [count, name] : counts) {
    if (count > 0) {
      texts.push_back(fmt::format("{} {}", grouped(static_cast<std::uint64_t>(count)), name));
    }
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

const Accuracy* differing_row(const std::vector<Accuracy>& rows) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [](const Accuracy& each) { return each.inputs == kDiffering; });
  return row == rows.end() ? nullptr : &*row;
}

std::string error_text(double ulps, std::string_view truth) {
  return std::isinf(ulps) ? "wrong about NaN or infinity"
                          : fmt::format("within {:.3g} ulp of {}", ulps, truth);
}

}  // namespace lockstep
