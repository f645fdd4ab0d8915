#include "reports/ctrf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "record/judged.h"
#include "record/tally.h"
#include "reports/fixtures.h"

namespace lockstep {
namespace {

nlohmann::json parsed(const std::string& text) { return nlohmann::json::parse(text); }

TEST(Ctrf, HostileTextStaysText) {
  const RunRecord record = hostile_run();
  EXPECT_EQ(parsed(ctrf(record, false))["results"]["tests"].size(), record.verdicts.size() + 1)
      << "and that the run was stopped";
}

TEST(Ctrf, TellsEachVerdictAsJunitDoes) {
  const RunRecord record = sample_run();
  for (const bool strict : {false, true}) {
    const auto results = parsed(ctrf(record, strict))["results"];
    ASSERT_EQ(results["tests"].size(), record.verdicts.size());
    std::map<std::string, std::size_t> counts;
    for (std::size_t i = 0; i < record.verdicts.size(); ++i) {
      const Verdict& verdict = record.verdicts[i];
      const auto& test = results["tests"][i];
      const JunitElement element = render(verdict, strict).element;
      EXPECT_EQ(test["name"], verdict.facts.id);
      EXPECT_EQ(test["status"], element == JunitElement::pass      ? "passed"
                                : element == JunitElement::skipped ? "skipped"
                                                                   : "failed");
      EXPECT_EQ(test["rawStatus"], info(verdict.found.status).name);
      EXPECT_EQ(test["labels"]["path"], verdict.facts.path);
      EXPECT_EQ(test.contains("message"), element != JunitElement::pass);
      ++counts[test["status"]];
    }
    for (const auto& [status, count] : counts) EXPECT_EQ(results["summary"][status], count);
    EXPECT_EQ(results["summary"]["tests"], record.verdicts.size());
  }
}

TEST(Ctrf, ARunThatFailsAsAWholeHasAFailedTest) {
  RunRecord record = sample_run();
  const std::size_t failed = parsed(ctrf(record, false))["results"]["summary"]["failed"];
  record.info.planned = 100;
  record.info.min_judged = 99;
  const auto results = parsed(ctrf(record, false))["results"];
  EXPECT_EQ(results["summary"]["failed"], failed + 2);
  EXPECT_EQ(results["tests"].back()["message"], judged_too_little(record, false));
  EXPECT_EQ(results["summary"]["tests"], results["tests"].size());
}

}  // namespace
}  // namespace lockstep
