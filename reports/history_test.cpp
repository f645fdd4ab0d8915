#include "reports/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/fixtures.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Four runs of the sample: a finding comes, one goes, one comes and goes; nights are missing.
History sample_history() {
  HistoryMaker maker;
  const std::string torches[] = {"2.12.0", "2.13.0", "2.14.0.dev20261101", "2.14.0.dev20261104"};
  for (int i = 0; i < 4; ++i) {
    RunRecord run = sample_run();
    run.environment["eager"]["torch"] = torches[i];
    run.info.started = "2026-11-0" + std::to_string(i + 1) + "T02:00:00Z";
    run.end->seconds = 60.0 * (i + 1);
    for (Verdict& verdict : run.verdicts) {
      const bool comes = verdict.facts.id == "ops/log/zero@cpu/inductor" && i < 2;
      const bool goes =
          verdict.facts.id == "ops/softmax/last-dim[dtype=bfloat16]@cpu/inductor" && i > 2;
      if (!comes && !goes) continue;
      verdict.found.status = Status::conform;
      verdict.found.differences.clear();
      verdict.found.outputs.clear();
    }
    maker.add(run);
  }
  return maker.history();
}

TEST(HistoryReport, OnTheConsole) {
  const History history = sample_history();
  expect_golden("sample.history.txt", history_text(history, Style(false), true));
  EXPECT_THAT(history_text(history, Style(false), false),
              Not(HasSubstr("fixed in 2.14.0.dev20261104\n")));
}

TEST(HistoryReport, NothingBreaksOut) {
  HistoryMaker maker;
  RunRecord run = hostile_run();
  maker.add(run);
  run.info.started += "2";
  run.environment["eager"]["torch"] = run.verdicts.front().facts.id;
  maker.add(run);
  const History history = maker.history();
  EXPECT_FALSE(history.fingerprints.empty());
  EXPECT_THAT(history_text(history, Style(false), true), Not(HasSubstr("\x1b")));
  const std::string page = history_page(history);
  const std::size_t begin = page.find("<main>");
  const std::string body = page.substr(begin, page.find("</main>") - begin);
  for (const char* each : {"<script", "<!--", "\x1b", "<img"})
    EXPECT_THAT(body, Not(HasSubstr(each)));
}

TEST(HistoryReport, StaysSmall) {
  HistoryMaker maker;
  RunRecord run = large_run(5000);
  for (int i = 0; i < 3; ++i) {
    run.info.started = std::to_string(i);
    maker.add(run);
  }
  EXPECT_LT(history_page(maker.history(), 50'000).size(), 200'000U);
}

TEST(HistoryReport, AsJson) {
  const Json json = history_json(sample_history());
  EXPECT_EQ(json["runs"].size(), 4U);
  EXPECT_EQ(json["runs"][3]["nights_missing"], 2);
  for (const Json& row : json["fingerprints"]) EXPECT_EQ(row["cells"].size(), 4U);
}

// The documents show it.
TEST(HistoryReport, ThePageToLookAtIsCurrent) {
  expect_golden("sample.history.html", history_page(sample_history()));
}

}  // namespace
}  // namespace lockstep
