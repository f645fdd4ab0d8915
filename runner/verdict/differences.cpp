#include "verdict/differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/enum_table.h"
#include "base/text.h"

namespace lockstep {
namespace {

struct GradeRow {
  Grade grade;
  std::string_view name;
  std::string_view policy, meaning;
};
constexpr std::array kGrades = {
    GradeRow{Grade::bits, "bits", "", "every element has the bits of eager's"},
    GradeRow{Grade::ulp4, "ulp4", "ulp(4)", "no element is more than 4 ulp away"},
    GradeRow{Grade::close, "close", "close", "within torch.testing.assert_close's table by dtype"},
    GradeRow{Grade::no_worse1, "no_worse1", "no_worse(1)",
             "as near to the float64 gold as eager is"},
    GradeRow{Grade::same1e3, "same1e-3", "same(0.001)", "passes PyTorch's accuracy gate at 1e-3"},
    GradeRow{Grade::none, "none", "", "holds none of these"}};
static_assert(has_every_row(kGrades, &GradeRow::grade));

}  // namespace

std::string_view name_of(Grade grade) { return kGrades[static_cast<std::size_t>(grade)].name; }

std::vector<std::string> grade_names() { return names_of(kGrades); }

std::optional<Grade> find_grade(std::string_view name) {
  const GradeRow* found = find_named(kGrades, name);
  return found == nullptr ? std::nullopt : std::optional(found->grade);
}

std::string_view meaning_of(Grade grade) {
  return kGrades[static_cast<std::size_t>(grade)].meaning;
}

std::string_view policy_of(Grade grade) { return kGrades[static_cast<std::size_t>(grade)].policy; }

Grade grade_of(std::int64_t differing, const std::vector<Measurement>& grading) {
  if (differing == 0) return Grade::bits;
  for (const Measurement& each : grading) {
    if (!each.ok) continue;
    for (const GradeRow& row : kGrades) {
      if (row.policy == each.policy) return row.grade;
    }
  }
  return Grade::none;
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
