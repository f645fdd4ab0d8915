#include "verdict/kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fixtures.h"
#include "base/text.h"
#include "wire/witness.h"

namespace lockstep {
namespace {

std::vector<std::string> quoted_names(const auto& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(fmt::format("`{}`", row.name));
  return names;
}

TEST(Kinds, AreFoundByTheirNames) {
  for (const NearerInfo& row : all_nearer()) {
    EXPECT_EQ(find_nearer(row.name), row.nearer);
    EXPECT_EQ(&info(row.nearer), &row);
  }
  for (const UnsupportedByInfo& row : all_unsupported_by()) {
    EXPECT_EQ(find_unsupported_by(row.name), row.by);
    EXPECT_EQ(&info(row.by), &row);
  }
  for (const BecauseInfo& row : all_because()) {
    EXPECT_EQ(find_because(row.name), row.because);
    EXPECT_EQ(name_of(row.because), row.name);
  }
  for (const std::string& name : witness_names()) EXPECT_EQ(name_of(*find_witness(name)), name);
  EXPECT_EQ(find_nearer("eagr"), std::nullopt);
  EXPECT_EQ(find_unsupported_by(""), std::nullopt);
  EXPECT_EQ(find_because("bgu"), std::nullopt);
  EXPECT_EQ(find_witness("guessed"), std::nullopt);
}

TEST(Kinds, ARuleSaysWhatOnlyARuleCanKnow) {
  EXPECT_EQ(find_because("front end"), Because::front_end);
  EXPECT_THAT(because_names(), testing::ElementsAre("bug", "intended", "undefined", "unreported"));
  expect_json("cases/schema/expectations.schema.json",
              "/properties/known/items/properties/because/enum", because_names());
}

TEST(Kinds, WhatAPathDeclaresCanBeReadFromTheReason) {
  EXPECT_EQ(declared_reason("There is\nno kernel."), "declared: There is no kernel.");
  EXPECT_EQ(words_of_declaration("declared: There is no kernel."), "There is no kernel.");
  EXPECT_EQ(words_of_declaration("torch lacks it"), "torch lacks it");
}

TEST(Kinds, TheLogsPageNamesThem) {
  const std::string page = read_source("docs/reference/log.md");
  std::vector<std::string> by;
  for (const UnsupportedByInfo& row : all_unsupported_by())
    by.push_back(fmt::format("`{}` ({})", row.name, row.meaning));
  EXPECT_THAT(page, testing::HasSubstr(fmt::format(
                        "| `unsupported_by` | of `unsupported`: who does without what the case "
                        "needs. {}.",
                        fmt::join(by, ", "))));
  EXPECT_THAT(page, testing::HasSubstr(fmt::format("| `nearer` | who is nearer to the gold: {} |",
                                                   fmt::join(quoted_names(all_nearer()), ", "))));
  EXPECT_THAT(page,
              testing::HasSubstr(fmt::format("| `execution` | how it is known who executed: `{}`;",
                                             fmt::join(witness_names(), "`, `"))));
  EXPECT_THAT(page, testing::HasSubstr(fmt::format("`because` is {}",
                                                   enumerate(quoted_names(all_because()), "or"))));
}

}  // namespace
}  // namespace lockstep
