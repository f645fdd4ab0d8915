#include "certificate/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fixtures.h"

namespace lockstep {
namespace {

std::string wrong(const std::string& text) {
  JsonFile file{"rules.json", text, {}};
  Diagnostics diagnostics;
  parse_json(file, diagnostics);
  if (diagnostics.empty()) decode_rules(file, diagnostics);
  return diagnostics.empty() ? "" : to_string(diagnostics.front());
}

TEST(CertificationRules, ThoseOfTheSuiteAreFine) {
  JsonFile file{"certification.json", read_source("expected/certification.json"), {}};
  Diagnostics diagnostics;
  parse_json(file, diagnostics);
  const CertificationRules rules = decode_rules(file, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << to_string(diagnostics.front());
  EXPECT_EQ(rules.times, 3);
  EXPECT_EQ(rules.percent, 10);
  ASSERT_NE(rules.floor_of("core-1"), nullptr);
  EXPECT_GE(rules.floor_of("core-1")->all, 80);
  EXPECT_GT(rules.tolerances.size(), 20U);
}

TEST(CertificationRules, WhatIsWrongIsSaid) {
  const std::string head = R"({"format": 1, "repeat": {"times": 3, "percent": 10}, )";
  EXPECT_EQ(wrong(head + R"("floors": [], "tolerances": []})"), "");
  EXPECT_THAT(
      wrong(head + R"("floors": [{"levels": ["*"], "all": 101, "each": 1}], "tolerances": []})"),
      testing::HasSubstr("found the number 101, expected percent, 0 to 100"));
  EXPECT_THAT(
      wrong(
          head +
          R"("floors": [{"levels": ["*"], "all": 1, "each": 1, "classes": {"poling": 1}}], "tolerances": []})"),
      testing::HasSubstr("did you mean `pooling`?"));
  EXPECT_THAT(
      wrong(
          head +
          R"("floors": [], "tolerances": [{"operators": ["mm"], "dtype": "float16", "rtol": 1, "atol": 1, "source": " "}]})"),
      testing::HasSubstr("a bound without a source is an opinion"));
  EXPECT_THAT(
      wrong(
          head +
          R"("floors": [], "tolerances": [{"operators": ["mm"], "dtype": "half", "rtol": 1, "atol": -1, "source": "x"}]})"),
      testing::HasSubstr("expected a dtype"));
  EXPECT_THAT(wrong(R"({"format": 1, "floors": [], "tolerances": []})"),
              testing::HasSubstr("repeat"));
}

}  // namespace
}  // namespace lockstep
