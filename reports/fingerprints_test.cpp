#include "reports/fingerprints.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/fixtures.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

void add(RunRecord& record, const std::string& instance, const std::string& op) {
  Verdict& verdict = record.verdicts.emplace_back();
  verdict.facts.instance = instance + "@cpu";
  verdict.facts.path = "inductor";
  verdict.facts.id = verdict.facts.instance + "/inductor";
  verdict.facts.operators = {"aten::" + op};
  verdict.facts.dtypes = {"float32"};
  verdict.found.status = Status::crash;
  verdict.found.stage = "run";
}

TEST(FingerprintsText, ListsWhatSeveralVerdictsFailOfAndCountsTheRest) {
  RunRecord record;
  add(record, "bugs/1", "sin");
  EXPECT_EQ(fingerprints_text(record, Style(false), false, false), "");  // told with its verdict
  add(record, "bugs/2", "cos");
  add(record, "bugs/3", "sin");
  EXPECT_EQ(fingerprints_text(record, Style(false), false, false),
            "2 fingerprints of what fails:\n"
            "    sin:crash-in-run  2 failing; float32; inductor\n"
            "        bugs/1@cpu/inductor\n"
            "    and 1 more, each of one verdict: ci/lockstep report --fingerprints\n\n");
  EXPECT_THAT(fingerprints_text(record, Style(false), false, true),
              HasSubstr("2 fingerprints of what does not conform:\n"));
  EXPECT_THAT(fingerprints_text(record, Style(false), false, true),
              HasSubstr("    cos:crash-in-run  1 failing; float32; inductor\n"));
}

TEST(FingerprintsText, OfManyShowsTheFirst) {
  RunRecord record;
  for (int i = 0; i < 50; ++i) add(record, fmt::format("bugs/{}", i), fmt::format("f{}", i / 2));
  const std::string text = fingerprints_text(record, Style(false), false, false);
  EXPECT_THAT(text, HasSubstr("25 fingerprints of what fails:\n"));
  EXPECT_THAT(text, HasSubstr("    and 5 more: ci/lockstep report --fingerprints\n"));
  record.directory = "out/my run";  // which `latest` is not
  EXPECT_THAT(fingerprints_text(record, Style(false), false, false),
              HasSubstr("    and 5 more: ci/lockstep report 'out/my run' --fingerprints\n"));
}

TEST(FingerprintsText, IsSafeToShow) {
  for (const bool all : {false, true}) {
    const std::string text = fingerprints_text(hostile_run(), Style(false), true, all);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
}

TEST(FingerprintsJson, HasNumbersAndAnExample) {
  RunRecord record;
  add(record, "bugs/1", "sin");
  record.verdicts.front().account.standing = Standing::known;
  const auto fingerprints = fingerprints_json(record, false);
  ASSERT_EQ(fingerprints.size(), 1U);
  EXPECT_EQ(fingerprints[0]["name"], "sin:crash-in-run");
  EXPECT_EQ(fingerprints[0]["verdicts"], 1);
  EXPECT_EQ(fingerprints[0]["failing"], 0);
  EXPECT_EQ(fingerprints[0]["example"], "bugs/1@cpu/inductor");
}

}  // namespace
}  // namespace lockstep
