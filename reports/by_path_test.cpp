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

TEST(ByPath, ToleranceThatAStrangerWroteEndsNothing) {
  RunRecord record = sample_run();
  for (const char* text : {"1", "[1]", "{}", R"([{"operators": 1, "dtypes": {"a": 2}}])", "null"}) {
    record.info.paths.front().declared["tolerances"] = nlohmann::ordered_json::parse(text);
    declared_tolerances(record.info);
  }
}

}  // namespace
}  // namespace lockstep
