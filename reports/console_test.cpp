#include "reports/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "record/judged.h"
#include "record/tally.h"
#include "reports/closing.h"
#include "reports/fixtures.h"
#include "reports/text.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Output {
  std::string out, err;
};

/// The whole run, with a clock that goes one second further for each verdict.
Output report(const RunRecord& record, ConsoleOptions options) {
  double now = 0;
  options.clock = [&now] { return now; };
  std::ostringstream out, err;
  Console console(out, err, options);
  console.run_started(record.info);
  console.note("warming the compiled worker");
  for (const Verdict& verdict : record.verdicts) {
    console.running({"an/earlier/one", verdict.facts.id}, {});
    now += 1;
    console.verdict(verdict);
  }
  console.run_ended(record);
  return {out.str(), err.str()};
}

ConsoleOptions plain() { return {}; }

TEST(Console, Goldens) {
  const RunRecord record = sample_run();
  const Output usual = report(record, plain());
  expect_golden("sample.console.out.txt", usual.out);
  expect_golden("sample.console.err.txt", usual.err);
  ConsoleOptions verbose = plain();
  verbose.verbose = verbose.strict = verbose.color_out = true;
  expect_golden("sample-verbose-strict-color.console.out.txt", report(record, verbose).out);
  ConsoleOptions live = plain();
  live.live = true;
  live.columns = 60;
  expect_golden("sample-live.console.err.txt", report(record, live).err);
}

TEST(Console, ResultsGoToOneStreamAndProgressToTheOther) {
  const Output output = report(sample_run(), plain());
  EXPECT_THAT(
      output.out,
      HasSubstr("value diverges  ops/softmax/last-dim[dtype=bfloat16]@cpu/inductor  3.10 s\n"));
  EXPECT_THAT(output.out, Not(HasSubstr("warming")));
  EXPECT_THAT(output.err, HasSubstr("warming"));
  EXPECT_THAT(output.err, Not(HasSubstr("value diverges")));
}

TEST(Console, EveryFailureEndsWithTheCommandThatRepeatsIt) {
  const RunRecord record = sample_run();
  const std::string out = report(record, plain()).out;
  for (const Verdict& verdict : record.verdicts) {
    if (!verdict.fails(false)) continue;
    EXPECT_THAT(out, HasSubstr("\n    " + verdict.origin.repro + "\n\n"));
  }
}

TEST(Console, PlainProgressIsRare) {
  const std::string err = report(large_run(100), plain()).err;
  EXPECT_LE(std::ranges::count(err, '\n'), 2 + 1 + 10);
  EXPECT_THAT(err, Not(HasSubstr("\r")));
  EXPECT_THAT(err, Not(HasSubstr("\x1b")));
}

TEST(Console, TheLiveLineIsCutToTheWidthAndCleared) {
  ConsoleOptions options = plain();
  options.live = true;
  options.columns = 30;
  const std::string err = report(sample_run(), options).err;
  std::size_t seen = 0;
  for (std::size_t at = err.find('\r'); at != std::string::npos; at = err.find('\r', at + 1)) {
    const std::size_t end = err.find("\x1b[K", at);
    ASSERT_NE(end, std::string::npos);
    EXPECT_LT(columns(err.substr(at + 1, end - at - 1)), options.columns);
    ++seen;
  }
  EXPECT_GT(seen, 20u);
  EXPECT_TRUE(err.ends_with("\r\x1b[K")) << "the last line is left standing";
}

TEST(Console, ManyKnownVerdictsAreListedOnlyWhenAskedFor) {
  RunRecord record = sample_run();
  const Verdict known = record.verdicts[1];
  ASSERT_EQ(known.account.standing, Standing::known);
  for (int i = 0; i < 20; ++i) record.verdicts.push_back(known);
  record.info.planned = record.verdicts.size();
  EXPECT_THAT(report(record, plain()).out, Not(HasSubstr("known (intended)")));
  ConsoleOptions verbose = plain();
  verbose.verbose = true;
  EXPECT_THAT(report(record, verbose).out, HasSubstr("known (intended)"));
}

/// What the progress lines say while a run of `planned` verdicts goes on: 20 of them one a second.
std::string progress_of(std::size_t planned, const std::vector<std::string>& starting,
                        std::size_t resumed = 0, bool live = true) {
  RunRecord record = sample_run();
  record.info.planned = planned;
  double now = 0;
  ConsoleOptions options;
  options.live = live;
  options.columns = 200;
  options.clock = [&now] { return now; };
  std::ostringstream out, err;
  Console console(out, err, options);
  console.run_started(record.info);
  Verdict verdict = record.verdicts.front();
  verdict.found.status = Status::conform;
  verdict.account.standing = Standing::new_;
  for (std::size_t i = 0; i < resumed; ++i) console.verdict(verdict);
  for (int i = 0; i < 20; ++i) {
    console.running({"an/id@cpu/eager"}, starting);
    console.tick();
    now += 1;
    console.verdict(verdict);
  }
  return err.str();
}

TEST(Console, ForetellsTheRestFromWhatWasDoneHere) {
  EXPECT_THAT(progress_of(100, {}), HasSubstr("[20/100] 20 s, about 80 s left  an/id@cpu/eager"));
  EXPECT_THAT(progress_of(100, {}), HasSubstr("[5/100] 5 s  an/id")) << "five say too little";
  EXPECT_THAT(progress_of(3600, {}), HasSubstr("[20/3600] 20 s, about 60 min left"));
  EXPECT_THAT(progress_of(36000, {}), HasSubstr(", about 10.0 h left"));
  EXPECT_THAT(progress_of(120, {}, 60), HasSubstr("[80/120] 20 s, about 40 s left"))
      << "those of the run that is gone on with took no time";
}

TEST(Console, WithoutATerminalEachTenthIsALine) {
  const std::string err = progress_of(40, {}, 0, false);
  EXPECT_THAT(err, HasSubstr("\n[5/40] 5 s  an/id"));  // early, that people see that it goes on
  EXPECT_EQ(std::ranges::count(err, '\n'), 1 + 4) << err;
  EXPECT_EQ(std::ranges::count(progress_of(100000, {}, 0, false), '\n'), 1 + 1);
}

TEST(Console, SaysForWhichWorkerEverythingWaits) {
  const std::string err = progress_of(100, {"compiled"}, 0, false);
  EXPECT_THAT(err, HasSubstr("starting the compiled worker\n"));
  EXPECT_THAT(err, Not(HasSubstr("an/id")));
  EXPECT_THAT(progress_of(100, {"compiled", "vendor"}, 0, false),
              HasSubstr("starting the compiled and vendor workers\n"));
}

TEST(Console, QuietSaysWhatFailsAndTheTotals) {
  ConsoleOptions options = plain();
  options.quiet = true;
  const Output quiet = report(sample_run(), options), usual = report(sample_run(), plain());
  EXPECT_EQ(quiet.err, "");
  const std::size_t table = usual.out.find("\npath  ");
  const std::size_t failing = quiet.out.rfind("\n\n");
  EXPECT_TRUE(usual.out.starts_with(quiet.out.substr(0, failing))) << "what fails, as ever";
  EXPECT_LT(failing, table);
  EXPECT_TRUE(usual.out.ends_with(quiet.out.substr(failing + 2)));
  EXPECT_EQ(std::count(quiet.out.begin() + static_cast<std::ptrdiff_t>(failing) + 2,
                       quiet.out.end(), '\n'),
            1);
}

TEST(Console, TheClosingLinesFitTheTerminal) {
  RunRecord record = sample_run();
  record.info.min_judged = 99;
  const std::string free = closing(record, Style(false), {});
  for (const std::size_t width : {60U, 80U}) {
    const std::string text = closing(record, Style(true), {.columns = width});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("lockstep r") != std::string::npos || line.find(' ', 20) == std::string::npos)
        continue;
      EXPECT_LE(columns(clean(line)), width) << line;
    }
    // No word is lost or changed.
    const auto words = [](const std::string& of) {
      std::istringstream in(clean(of));
      return std::vector<std::string>(std::istream_iterator<std::string>(in), {});
    };
    EXPECT_EQ(words(text), words(free));
  }
}

TEST(Console, OneIsSingular) {
  RunRecord record = sample_run();
  record.verdicts.resize(1);
  record.info.planned = 1;
  const Output output = report(record, plain());
  EXPECT_THAT(output.err, HasSubstr("1 verdict to come"));
  EXPECT_THAT(output.out, HasSubstr("1 verdict:"));
}

TEST(Console, SaysWhichPathsCannotBeUsedAndThatTooLittleIsJudged) {
  RunRecord record = sample_run();
  EXPECT_THAT(report(record, plain()).out, Not(HasSubstr("fewer than")));
  record.info.absent_paths = {{"newer", "torch 2.13.0 has no such setting"}};
  record.info.min_judged = 99;
  const Output output = report(record, plain());
  EXPECT_THAT(output.err, HasSubstr("newer: torch 2.13.0 has no such setting; not run\n"));
  EXPECT_THAT(output.out, HasSubstr(judged_too_little(record, false) + "\n26 verdicts:"));
}

TEST(Console, SaysWhenNothingFailsAndNothingConforms) {
  const std::string none = ": nothing was found to conform\n";
  RunRecord record = sample_run();
  EXPECT_THAT(report(record, plain()).out, Not(HasSubstr(none)));
  std::erase_if(record.verdicts, [](const Verdict& verdict) { return verdict.fails(false); });
  EXPECT_THAT(report(record, plain()).out, Not(HasSubstr(none))) << "two conform";
  std::erase_if(record.verdicts, [](const Verdict& verdict) {
    return column_of(verdict, false) == Column::conform ||
           verdict.account.standing == Standing::fixed;
  });
  record.info.planned = record.verdicts.size();
  EXPECT_THAT(report(record, plain()).out, HasSubstr("1 known, 1 waived, 4 skipped" + none));
  record.verdicts.clear();
  record.info.planned = 0;
  EXPECT_THAT(report(record, plain()).out, Not(HasSubstr(none)));
}

TEST(Console, HalfARunSaysSo) {
  RunRecord record = sample_run();
  record.info.planned = 100;
  EXPECT_THAT(report(record, plain()).out, HasSubstr("stopped after 26 of 100 verdicts:"));
  record.end->interrupted = true;
  EXPECT_THAT(report(record, plain()).out, HasSubstr("interrupted after 26 of 100 verdicts:"));
}

TEST(Console, NothingFromARunReachesTheTerminalAsACommand) {
  const Output output = report(hostile_run(), plain());
  for (const std::string& text : {output.out, output.err}) {
    EXPECT_EQ(text.find_first_of("\x1b\r\x01\x7f\a"), std::string::npos);
    EXPECT_EQ(text, clean(text));
  }
  EXPECT_LT(output.out.size(), 100'000u);
}

}  // namespace
}  // namespace lockstep
