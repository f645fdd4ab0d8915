#include "reports/tolerated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/closing.h"
#include "reports/fixtures.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

OutputComparison differing(std::string name, Grade grade, std::uint64_t ulp) {
  OutputComparison output;
  output.name = std::move(name);
  output.policy = "no_worse(1)";
  output.grade = grade;
  output.elements = 20;
  output.differing = 17;
  output.max_ulp = ulp;
  output.worst = {0, 3};
  output.eager = "1.5";
  output.compiled = "1.501";
  return output;
}

TEST(Tolerated, IsWhatConformsThoughItDiffers) {
  Verdict verdict;
  EXPECT_EQ(tolerated(verdict).output, nullptr);
  verdict.found.outputs = {differing("a", Grade::ulp4, 3), differing("b", Grade::no_worse1, 2)};
  verdict.found.outputs.emplace_back().name = "equal";
  const Tolerated found = tolerated(verdict);
  ASSERT_NE(found.output, nullptr);
  EXPECT_EQ(found.output->name, "b") << "the worst grade counts before ulps";
  EXPECT_EQ(describe(found),
            "b: 17 of 20 elements differ, by up to 2 ulp; worst at [0, 3]: eager 1.5, compiled "
            "1.501; let pass by no_worse(1) (and 1 more)");
  verdict.found.weak = "eager itself is as far off";
  EXPECT_THAT(describe(found), HasSubstr("; weak: eager itself is as far off"));
  verdict.found.status = Status::metadata_diverges;
  EXPECT_EQ(tolerated(verdict).output, nullptr) << "a verdict that fails was not let pass";
}

TEST(Tolerated, OfARunComesWorstFirst) {
  RunRecord record;
  const auto add = [&](std::string id, Grade grade, std::uint64_t ulp) {
    Verdict& verdict = record.verdicts.emplace_back();
    verdict.facts.id = std::move(id);
    verdict.found.grade = grade;
    verdict.found.outputs = {differing("y", grade, ulp)};
  };
  add("small", Grade::ulp4, 1);
  add("far", Grade::no_worse1, 90);
  add("further", Grade::no_worse1, 900);
  add("equal", Grade::bits, 0);
  record.verdicts.back().found.outputs.front().differing = 0;
  std::vector<std::string> ids;
  for (const Tolerated& one : tolerated(record)) ids.push_back(one.verdict->facts.id);
  EXPECT_THAT(ids, testing::ElementsAre("further", "far", "small"));
}

TEST(Tolerated, HostileTextStaysText) {
  RunRecord record = hostile_run();
  for (Verdict& verdict : record.verdicts) {
    verdict.found.status = Status::conform;
    verdict.found.outputs.front().status = Status::conform;
    verdict.found.outputs.front().differing = 1;
  }
  ASSERT_FALSE(tolerated(record).empty());
  for (const Tolerated& one : tolerated(record)) {
    const std::string line = tolerated_line(Style(false), one);
    EXPECT_EQ(line.find_first_of("\x1b\r\n\x01\x7f\a"), std::string::npos);
  }
}

TEST(ConformLine, SaysHowMuchOfWhatConformsReachesWhichGrade) {
  Tally counts;
  EXPECT_EQ(conform_line(counts), "");
  Verdict verdict;
  counts.add(verdict, false);
  verdict.found.grade = Grade::bits;
  counts.add(verdict, false);
  verdict.found.grade = Grade::no_worse1;
  verdict.found.weak = "w";
  counts.add(verdict, false);
  EXPECT_EQ(conform_line(counts), "3 conform: 1 bits, 1 no_worse1, 1 without numbers; 1 weak");
  verdict.found.weak = "";
  verdict.found.foreign_fraction = 0.4;
  verdict.found.execution = Witness::stated;
  counts.add(verdict, false);
  EXPECT_EQ(conform_line(counts),
            "4 conform: 1 bits, 2 no_worse1, 1 without numbers; 1 weak, 1 partly executed by "
            "others, 1 executed as the path states");
  Tally warning;
  verdict = {};
  verdict.found.warnings = Warnings{1, {}, {}};
  warning.add(verdict, false);
  verdict.found.warnings->lost = {"UserWarning: a"};
  warning.add(verdict, false);
  EXPECT_EQ(conform_line(warning), "2 conform: 2 without numbers; 1 with other warnings");
}

TEST(TotalsLine, SaysHowManyVerdictsAreOfUnverifiedCases) {
  RunRecord record;
  record.end = RunEnd();
  record.info.planned = 2;
  record.verdicts.resize(2);
  EXPECT_EQ(totals_line(record, false, 1), "2 verdicts: 2 conform, 0 failing in 1.00 s");
  record.verdicts[1].facts.unverified = "Nobody here has the device.";
  EXPECT_EQ(totals_line(record, false, 1),
            "2 verdicts: 2 conform, 0 failing in 1.00 s; 1 of unverified cases");
}

}  // namespace
}  // namespace lockstep
