#include "reports/by_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/closing.h"
#include "reports/fixtures.h"
#include "reports/junit.h"
#include "reports/summary.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ByPath, EveryReportHasTheTolerancesOfItsPaths) {
  RunRecord record = sample_run();
  ASSERT_FALSE(record.info.paths.empty());
  record.info.paths.front().declared["tolerances"] = nlohmann::ordered_json::parse(
      R"([{"operators": ["mm", "bmm"], "dtypes": ["float16"], "rtol": 0.01, "atol": 0.001,
           "reason": "It adds in halves."}])");
  const std::string line = "mm, bmm of float16 within rtol 0.01, atol 0.001: It adds in halves.";
  const auto lines = declared_tolerances(record.info);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines.front().first, record.info.paths.front().name);
  EXPECT_EQ(lines.front().second, line);
  EXPECT_THAT(closing(record, Style(false), {}), HasSubstr("declares " + line));
  EXPECT_THAT(summary(record, false), HasSubstr("It adds in halves."));
  EXPECT_THAT(junit(record, false), HasSubstr(line));
}

/// A verdict of an instance on a path.
Verdict judged_as(std::string instance, std::string path, Status status) {
  Verdict verdict;
  verdict.facts.id = instance + "/" + path;
  verdict.facts.instance = std::move(instance);
  verdict.facts.path = std::move(path);
  verdict.found.status = status;
  return verdict;
}

TEST(ByPath, RatesAreComparedOverTheInstancesThatEveryPathJudged) {
  RunRecord record;
  for (const char* name : {"mine", "theirs", "idle"}) record.info.paths.emplace_back().name = name;
  record.verdicts = {judged_as("a", "mine", Status::conform),
                     judged_as("b", "mine", Status::value_diverges),
                     judged_as("c", "mine", Status::value_diverges),
                     judged_as("a", "theirs", Status::conform),
                     judged_as("b", "theirs", Status::conform),
                     judged_as("c", "theirs", Status::refused),
                     judged_as("a", "idle", Status::unsupported)};
  const RatesByPath rates = rates_by_path(record);
  EXPECT_TRUE(rates.differ);
  ASSERT_EQ(rates.paths.size(), 2U) << "a path that judged nothing takes nothing from the others";
  EXPECT_EQ(rates.paths[0].own.text(), "33.3 %");
  EXPECT_EQ(rates.paths[0].common.text(), "50.0 %");
  EXPECT_EQ(rates.paths[1].own.text(), "100.0 %");
  EXPECT_EQ(rates.paths[1].common.judged, 2U);
  const std::string text = summary(record, false);
  EXPECT_THAT(text, HasSubstr(" of the 2 instances that every path judged |"));
  EXPECT_THAT(text, HasSubstr(" 33.3 % of 3 | 50.0 % |"));
  EXPECT_THAT(text, HasSubstr("| idle | 0 | 0 | 0 | 0 | 0 | 1 | – of 0 | – |"));

  RunRecord others = record;
  for (std::size_t i = 3; i < 6; ++i) others.verdicts[i].facts.instance += "2";
  EXPECT_THAT(summary(others, false), HasSubstr(" 33.3 % of 3 |\n")) << "nothing to compare by";

  record.verdicts.erase(record.verdicts.begin() + 2);  // now both judged a and b
  EXPECT_FALSE(rates_by_path(record).differ);
  EXPECT_THAT(summary(record, false), Not(HasSubstr("every path")));
}

TEST(ByPath, ToleranceThatAStrangerWroteEndsNothing) {
  RunRecord record = sample_run();
  for (const char* text : {"1", "[1]", "{}", R"([{"operators": 1, "dtypes": {"a": 2}}])", "null"}) {
    record.info.paths.front().declared["tolerances"] = nlohmann::ordered_json::parse(text);
    declared_tolerances(record.info);
  }
}

}  // namespace
}  // namespace lockstep
