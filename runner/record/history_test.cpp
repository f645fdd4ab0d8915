#include "record/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A run of a torch in which these cases, each of an operator of its name, have these statuses.
RunRecord night(const std::string& torch, const std::string& day,
                const std::vector<std::pair<std::string, Status>>& cases) {
  RunRecord run;
  run.info.started = day + "T02:00:00Z";
  run.info.plan = "p";
  run.info.planned = cases.size();
  run.environment = {{"eager", {{"torch", torch}, {"torch_git", torch}}},
                     {"machine", {{"cpu", "one"}}}};
  for (const auto& [name, status] : cases) {
    Verdict& verdict = run.verdicts.emplace_back();
    verdict.facts.instance = "ops/" + name + "@cpu";
    verdict.facts.id = verdict.facts.instance + "/inductor";
    verdict.facts.path = "inductor";
    verdict.facts.operators = {"aten::" + name + ".default"};
    verdict.found.status = status;
  }
  run.end = RunEnd{};
  run.end->seconds = 60;
  return run;
}

History history_of(const std::vector<RunRecord>& runs) {
  HistoryMaker maker;
  for (const RunRecord& run : runs) maker.add(run);
  return maker.history();
}

const HistoryRow& row_of(const std::vector<HistoryRow>& rows, const std::string& name) {
  return *std::find_if(rows.begin(), rows.end(),
                       [&](const HistoryRow& row) { return row.name == name; });
}

std::vector<Seen> seen_in(const HistoryRow& row) {
  std::vector<Seen> seen;
  for (const HistoryCell& cell : row.cells) seen.push_back(cell.seen);
  return seen;
}

constexpr Status kGood = Status::conform, kBad = Status::crash, kNone = Status::unsupported;

TEST(History, OrdersVersions) {
  const std::vector<std::string> sorted = {"2.9.1",
                                           "2.10.0.dev20261101+cpu",
                                           "2.10.0.dev20261102",
                                           "2.10.0a0+git123",
                                           "2.10.0rc1",
                                           "2.10.0rc2",
                                           "2.10.0+cpu",
                                           "2.10.1"};
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    EXPECT_TRUE(is_older(sorted[i - 1], sorted[i])) << sorted[i];
    EXPECT_FALSE(is_older(sorted[i], sorted[i - 1])) << sorted[i];
  }
  EXPECT_FALSE(is_older("2.10.0", "2.10.0+cpu")) << "of one version";
  EXPECT_TRUE(is_release("2.10.0+cpu"));
  for (const char* each : {"2.10.0rc1", "2.10.0a0+git1", "2.10.0.dev20261101", ""})
    EXPECT_FALSE(is_release(each)) << each;
  EXPECT_TRUE(is_nightly("2.10.0.dev20261101+cpu"));
  for (const char* each : {"2.10.0rc1", "2.10.0a0+git1", "2.10.0", "2.10.0.dev1", ""})
    EXPECT_FALSE(is_nightly(each)) << each;
}

TEST(History, SaysSinceWhenAndUntilWhen) {
  const History history = history_of({
      night("2.13.0", "2026-11-03", {{"relu", kBad}, {"sin", kGood}, {"cos", kNone}}),
      night("2.11.0", "2026-11-01", {{"relu", kGood}, {"sin", kBad}, {"cos", kBad}}),
      night("2.12.0", "2026-11-02", {{"relu", kBad}, {"sin", kGood}, {"cos", kBad}}),
  });
  EXPECT_EQ(history.runs.front().torch, "2.11.0") << "by the torch, not as they came";
  ASSERT_THAT(history.fingerprints, SizeIs(3));
  const HistoryRow& relu = row_of(history.fingerprints, "relu:crash");
  EXPECT_EQ(relu.course, Course::open);
  EXPECT_EQ(relu.last_good, 0U);
  EXPECT_EQ(relu.first_bad, 1U);
  EXPECT_EQ(relu.example, "ops/relu@cpu/inductor");
  EXPECT_THAT(relu.operators, ElementsAre("relu"));
  const HistoryRow& sin = row_of(history.fingerprints, "sin:crash");
  EXPECT_EQ(sin.course, Course::fixed);
  EXPECT_EQ(sin.fixed_in, 1U);
  EXPECT_FALSE(sin.last_good);
  const HistoryRow& cos = row_of(history.fingerprints, "cos:crash");
  EXPECT_THAT(seen_in(cos), ElementsAre(Seen::shown, Seen::shown, Seen::unknown));
  EXPECT_EQ(cos.course, Course::open) << "nobody has seen it go";
  EXPECT_EQ(history.fingerprints.front().name, "relu:crash") << "open, and the latest";
  EXPECT_EQ(history.fingerprints.back().name, "sin:crash");
  EXPECT_THAT(seen_in(row_of(history.operators, "sin")),
              ElementsAre(Seen::shown, Seen::absent, Seen::absent));
}

TEST(History, KnowsWhatComesAndGoes) {
  std::vector<RunRecord> runs;
  for (int day = 1; day <= 5; ++day)
    runs.push_back(night("2.14.0.dev2026110" + std::to_string(day),
                         "2026-11-0" + std::to_string(day),
                         {{"relu", day % 2 == 0 ? kBad : kGood}, {"sin", day > 3 ? kBad : kGood}}));
  const History history = history_of(runs);
  EXPECT_EQ(row_of(history.fingerprints, "relu:crash").course, Course::flaky);
  EXPECT_EQ(row_of(history.fingerprints, "sin:crash").course, Course::open);
  // One torch, made alike, that disagrees with itself.
  const History twice = history_of({night("2.13.0", "2026-11-01", {{"relu", kBad}}),
                                    night("2.13.0", "2026-11-02", {{"relu", kGood}})});
  EXPECT_EQ(twice.fingerprints.front().course, Course::flaky);
  RunRecord other = night("2.13.0", "2026-11-02", {{"relu", kGood}});
  other.environment["machine"]["cpu"] = "another";
  const History moved = history_of({night("2.13.0", "2026-11-01", {{"relu", kBad}}), other});
  EXPECT_EQ(moved.fingerprints.front().course, Course::fixed);
  EXPECT_THAT(moved.runs[1].unlike, ElementsAre(HasSubstr("the CPU")));
  RunRecord unstable = night("2.13.0", "2026-11-01", {{"relu", kBad}});
  unstable.verdicts[0].found.unstable = true;
  EXPECT_EQ(history_of({unstable}).fingerprints.front().course, Course::flaky);
}

TEST(History, SaysWhatIsMissing) {
  RunRecord cut = night("2.14.0.dev20261105", "2026-11-05", {{"relu", kGood}});
  cut.end.reset();
  const RunRecord first = night("2.14.0.dev20261031", "2026-10-31", {{"relu", kGood}});
  HistoryMaker maker;
  EXPECT_TRUE(maker.add(first));
  EXPECT_FALSE(maker.add(first)) << "it is there";
  EXPECT_TRUE(maker.add(cut));
  const History history = maker.history();
  ASSERT_THAT(history.runs, SizeIs(2));
  EXPECT_EQ(history.runs[1].nights_missing, 4U);
  EXPECT_FALSE(history.runs[1].whole);
  EXPECT_THAT(history.fingerprints, IsEmpty());
}

}  // namespace
}  // namespace lockstep
