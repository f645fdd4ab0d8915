#include "reports/summary.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/fixtures.h"

namespace lockstep {
namespace {

TEST(Summary, SaysThatTooLittleIsJudgedAndWhichPathsAreAbsent) {
  RunRecord record = sample_run();
  std::erase_if(record.verdicts, [](const Verdict& verdict) { return verdict.fails(false); });
  record.info.planned = record.verdicts.size();
  EXPECT_THAT(summary(record, false), testing::StartsWith("## Lockstep: nothing fails"));
  record.info.min_judged = 99;
  record.info.absent_paths = {{"newer", "torch 2.13.0 has no such setting"}};
  const std::string text = summary(record, false);
  EXPECT_THAT(text, testing::StartsWith("## Lockstep: too little is judged"));
  EXPECT_THAT(text, testing::HasSubstr("\n\n**judged "));
  EXPECT_THAT(text,
              testing::HasSubstr("<code>newer</code>: torch 2.13.0 has no such setting; not run"));
  EXPECT_THAT(github_annotations(record, false),
              testing::HasSubstr("::error title=Lockstep::judged "));
}

using testing::HasSubstr;
using testing::Not;

TEST(Summary, Goldens) {
  expect_golden("sample.summary.md", summary(sample_run(), false));
  expect_golden("sample.annotations.txt", github_annotations(sample_run(), false));
}

TEST(Summary, SaysWhenNothingFails) {
  RunRecord record = sample_run();
  std::erase_if(record.verdicts, [](const Verdict& verdict) { return verdict.fails(false); });
  EXPECT_THAT(summary(record, false), HasSubstr("Lockstep: nothing fails"));
  EXPECT_THAT(summary(record, false), Not(HasSubstr("### Failing")));
  EXPECT_EQ(github_annotations(record, false), "");
}

TEST(Summary, AGreenHeadlineSaysWhenNothingConforms) {
  RunRecord record = sample_run();
  std::erase_if(record.verdicts, [](const Verdict& verdict) {
    return verdict.fails(false) || (verdict.account.standing == Standing::new_ &&
                                    info(verdict.found.status).junit == JunitElement::pass);
  });
  record.info.planned = record.verdicts.size();
  EXPECT_THAT(summary(record, false), testing::StartsWith("## Lockstep: 1 fixed, 1 known"));
  EXPECT_THAT(summary(record, false), HasSubstr("nothing was found to conform\n"));
}

TEST(Summary, StaysWithinItsLimitAndCountsTheRest) {
  RunRecord record = large_run(3000);
  for (Verdict& verdict : record.verdicts) {
    verdict.found.status = Status::crash;
    verdict.account.standing = Standing::new_;
    verdict.origin.stderr_tail = std::string(100'000, 'x');
    verdict.facts.operators = {
        fmt::format("aten::op{}", verdict.facts.index)};  // a fingerprint of its own
  }
  const std::string text = summary(record, false);
  EXPECT_LE(text.size(), kSummaryLimit);
  EXPECT_GT(text.size(), kSummaryLimit / 2);
  EXPECT_THAT(text, HasSubstr("3,000 failing verdicts of 3,000 fingerprints"));
  EXPECT_THAT(text, testing::ContainsRegex("\nand 2,[0-9]+ more\n"));
  EXPECT_THAT(text, HasSubstr("Environment"));
  for (const std::size_t limit : {0u, 10u, 1000u, 5000u}) {
    EXPECT_LE(summary(record, false, limit).size(), std::max<std::size_t>(limit, 1)) << limit;
  }
}

/// A failing verdict of the sample that differs in value, of `op` in `dtype`.
Verdict differing(const std::string& op, const std::string& dtype, const std::string& instance) {
  const RunRecord sample = sample_run();
  Verdict verdict = *std::ranges::find_if(sample.verdicts, [](const Verdict& each) {
    return each.found.status == Status::value_diverges;
  });
  verdict.account.standing = Standing::new_;
  verdict.account.expectation.reset();
  verdict.facts.operators = {op};
  verdict.facts.dtypes = {dtype};
  verdict.facts.instance = instance;
  verdict.facts.id = instance + "/" + verdict.facts.path;
  verdict.origin.repro = "ci/lockstep run " + verdict.facts.id;
  return verdict;
}

TEST(Summary, AGroupHasItsCountOperatorsDtypesAndOneExampleWithItsCommand) {
  RunRecord record = sample_run();
  record.verdicts = {differing("aten::exp", "float32", "a/alone@cpu"),
                     differing("aten::sin.out", "float32", "a/longer-name@cpu"),
                     differing("aten::sin", "float16", "a/short@cpu")};
  const std::string text = summary(record, false);
  EXPECT_THAT(text, HasSubstr("3 failing verdicts of 2 fingerprints.\n"));
  EXPECT_THAT(text,
              HasSubstr("</code> 2 verdicts; aten&#58;&#58;sin, aten&#58;&#58;sin.out; float16, "
                        "float32<br><code>a/short&#64;cpu/inductor</code>"));
  EXPECT_THAT(text, HasSubstr("\nci/lockstep run a/short@cpu/inductor\n"));
  EXPECT_THAT(text, Not(HasSubstr("longer-name")));
  EXPECT_LT(text.find("2 verdicts; "), text.find("1 verdict; "));
}

TEST(Summary, WhatCrashedComesFirstHoweverMuchElseFails) {
  RunRecord record = sample_run();
  for (int i = 0; i < 3; ++i)
    record.verdicts.push_back(differing("aten::sin", "float32", fmt::format("a/{}@cpu", i)));
  const std::string text = summary(record, false);
  EXPECT_THAT(text, HasSubstr("<b>crash</b>"));
  EXPECT_LT(text.find("<b>crash</b>"), text.find("3 verdicts; aten"));
  EXPECT_LT(text.find("3 verdicts; aten"), text.find("ops/log/zero"));
}

TEST(Summary, WhatIsKnownIsFoldedByFingerprint) {
  RunRecord record = sample_run();
  EXPECT_THAT(summary(record, false),
              HasSubstr("<summary>Known, by fingerprint: 1 verdict</summary>"));
  std::erase_if(record.verdicts,
                [](const Verdict& verdict) { return verdict.account.standing == Standing::known; });
  EXPECT_THAT(summary(record, false), Not(HasSubstr("Known, by fingerprint")));
}

TEST(Summary, PercentIsOfWhatIsJudgedAndRoundedDown) {
  RunRecord record = sample_run();
  record.verdicts.assign(2000, differing("aten::sum", "float32", "a/sum@cpu"));
  for (Verdict& verdict : record.verdicts) {
    verdict.facts.tags = {"mutation", "reduction"};
    verdict.found.status = Status::conform;
  }
  record.verdicts[0].found.status = Status::value_diverges;
  for (std::size_t i = 1; i <= 500; ++i) record.verdicts[i].found.status = Status::unsupported;
  record.verdicts[501].facts.tags = {"mutation"};
  record.verdicts[501].facts.operators = {"mylib::op"};
  record.verdicts[501].facts.dtypes = {"float32", "int64"};
  const std::string text = summary(record, false);
  EXPECT_THAT(text, HasSubstr("| dtype | reductions | others |\n|:--|--:|--:|\n"
                              "| all | 99.9 % | 100.0 % |\n| float32 | 99.9 % | – |\n"
                              "| several | – | 100.0 % |\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\n. inductor .* 99.9 % .\n"));
}

TEST(Summary, HostileTextStaysText) {
  const std::string text = summary(hostile_run(), false);
  EXPECT_THAT(text, Not(HasSubstr("<script>alert(1)</script><!--\n")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  // Outside of the fences nothing is markup but ours.
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.starts_with("<details>") || line.starts_with("|") || line.starts_with("- ")) {
      EXPECT_THAT(line, Not(HasSubstr("<script"))) << line;
      EXPECT_THAT(line, Not(HasSubstr("<img"))) << line;
    }
    begin = end + 1;
  }
}

TEST(Annotations, AreAtMostTenLinesThatNothingBreaksOutOf) {
  for (const RunRecord& record : {sample_run(), hostile_run(), large_run(500)}) {
    const std::string text = github_annotations(record, true);
    EXPECT_LE(std::ranges::count(text, '\n'), 10);
    for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
      EXPECT_EQ(text.compare(begin, 8, "::error "), 0);
    }
  }
  EXPECT_THAT(github_annotations(sample_run(), false),
              HasSubstr("::error file=cases/ops/softmax/last-dim.json,line=14,title=value diverges "
                        "on inductor::"));
  EXPECT_THAT(github_annotations(hostile_run(), false),
              HasSubstr("file=</script><script>alert(1)"));
  EXPECT_THAT(github_annotations(hostile_run(), false), HasSubstr("%0A%3A %3Aerror%3A%3Ax %250A"));
}

TEST(Annotations, AreOneForEachFingerprintAtItsSmallestExample) {
  RunRecord record = sample_run();
  std::erase_if(record.verdicts, [](const Verdict& verdict) {
    return verdict.found.status != Status::value_diverges;
  });
  std::erase_if(record.verdicts, [](const Verdict& verdict) { return !verdict.fails(false); });
  ASSERT_EQ(record.verdicts.size(), 1u);
  EXPECT_THAT(github_annotations(record, false), Not(HasSubstr("of this fingerprint")));
  for (int i = 0; i < 30; ++i) {
    Verdict& larger = record.verdicts.emplace_back(record.verdicts.front());
    larger.facts.operators.push_back(
        larger.facts.operators.front());  // the fingerprint names each once
    larger.facts.case_file = "cases/larger.json";
  }
  std::swap(record.verdicts.front(), record.verdicts.back());
  const std::string text = github_annotations(record, false);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  EXPECT_THAT(text, testing::StartsWith("::error file=cases/ops/softmax/last-dim.json,line=14,"));
  EXPECT_THAT(text, HasSubstr("%0A31 failing verdicts of this fingerprint: to:value%0A"));
}

TEST(Annotations, TheTenthCountsVerdictsAndFingerprints) {
  RunRecord record = sample_run();
  record.info.min_judged = 99;
  const std::string text = github_annotations(record, false);
  EXPECT_EQ(std::ranges::count(text, '\n'), 10) << text;
  EXPECT_THAT(text, HasSubstr("::error title=Lockstep::judged "));
  EXPECT_THAT(text, testing::EndsWith("; the summary has them\n"));
}

}  // namespace
}  // namespace lockstep
