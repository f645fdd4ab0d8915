#include "verdict/measurement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/fixtures.h"
#include "policies/policy.h"
#include "verdict/differences.h"

namespace lockstep {
namespace {

TEST(Measurement, TheLogsPageHasTheTable) {
  std::vector<std::string> rows;
  for (const QuantityInfo& row : all_quantities()) {
    EXPECT_EQ(find_quantity(row.name), row.quantity);
    rows.push_back(fmt::format("| `{}` | {} | {} |", row.name, row.measured, row.limit));
  }
  expect_table("docs/reference/log.md", "| of | measured | limit |", rows);
}

TEST(Measurement, AFailedLeafIsAboutValuesOrAboutNanAndInfinity) {
  Measurement leaf{"close", Quantity::outside, 1, 0, false};
  EXPECT_EQ(status_of(leaf), Status::value_diverges);
  leaf.of = Quantity::nonfinite;
  EXPECT_EQ(status_of(leaf), Status::nonfinite_diverges);
  leaf.ok = true;
  EXPECT_EQ(status_of(leaf), Status::conform);
}

TEST(Measurement, TheGradesArePolicies) {
  for (const std::string& name : grade_names()) {
    const Grade grade = *find_grade(name);
    const std::string policy(policy_of(grade));
    if (policy.empty()) continue;
    EXPECT_EQ(to_string(*parse_policy(policy)), policy) << name;
    EXPECT_EQ(grade_of(1, {{"bits", Quantity::differing, 1, 0, false},
                           {policy, Quantity::nothing, 0, 0, true}}),
              grade);
  }
  EXPECT_EQ(grade_of(0, {}), Grade::bits);
  EXPECT_EQ(grade_of(1, {}), Grade::none);
  EXPECT_EQ(grade_of(1, {{"close", Quantity::outside, 1, 0, false}}), Grade::none);
}

}  // namespace
}  // namespace lockstep
