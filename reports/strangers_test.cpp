#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "record/gate.h"
#include "reports/accuracy.h"
#include "reports/closing.h"
#include "reports/console.h"
#include "reports/ctrf.h"
#include "reports/fingerprints.h"
#include "reports/fixtures.h"
#include "reports/gate.h"
#include "reports/gate_page.h"
#include "reports/html.h"
#include "reports/junit.h"
#include "reports/ladder.h"
#include "reports/markup.h"
#include "reports/operators.h"
#include "reports/story.h"
#include "reports/summary.h"
#include "reports/text.h"
#include "reports/tolerated.h"

// What strangers write reaches other people's terminals, the runners of their CI, and their pages.
// Every text of a run is put into every report here, and none acts as what only Lockstep may say.

namespace lockstep {
namespace {

/// A text that tries everything at once.
const std::string kHostile =
    "a\n::error::forged\n \t::add-mask::x\n\xc2\xa0::debug::y\n##[stop-commands]x ##vso[task.x]y "
    "##TeamCity[z] section_start:1:x\r\x1b[0K section_end:1:x [[ATTACHMENT|/etc/passwd]] "
    "[[PROPERTY|a=b]] \xe2\x80\xae\xe2\x81\xa6 \x1b[2J\x1b]0;t\a \xc2\x9b<script>alert(1)</script>";

/// Makes every text of a document hostile that may be any text, which `reads` tells.
void make_hostile(Json& root, Json& part, const std::function<bool(const Json&)>& reads) {
  if (part.is_structured()) {
    for (Json& child : part) make_hostile(root, child, reads);
    return;
  }
  if (!part.is_string()) return;
  Json before = part;
  part = before.get<std::string>() + kHostile;
  if (!reads(root)) part = std::move(before);  // a word of a table
}

/// The sample run, all of whose texts are hostile.
RunRecord hostile_sample() {
  RunRecord record = sample_run();
  Json info = to_json(record.info);
  make_hostile(info, info, [](const Json& json) { return run_info_from_json(json).has_value(); });
  record.info = *run_info_from_json(info);
  for (Verdict& verdict : record.verdicts) {
    Json json = to_json(verdict);
    make_hostile(json, json, [](const Json& each) { return verdict_from_json(each).has_value(); });
    Json explained = verdict.account.explained;
    verdict = *verdict_from_json(json);
    make_hostile(explained, explained, [](const Json&) { return true; });
    verdict.account.explained = std::move(explained);
  }
  make_hostile(record.environment, record.environment, [](const Json&) { return true; });
  record.environment[kHostile] = {{kHostile, kHostile}};
  if (record.end) record.end->unmatched.push_back({kHostile, kHostile});
  return record;
}

/// All that a console shows of a run, as wide as it is and narrow.
std::string console_of(const RunRecord& record, bool color) {
  std::ostringstream out, err;
  for (const std::size_t wrap : {std::size_t{0}, std::size_t{30}}) {
    ConsoleOptions options;
    options.clock = [] { return 0.0; };
    options.verbose = options.strict = options.explain_known = true;
    options.color_out = options.color_err = color;
    options.live = wrap > 0;
    options.wrap = wrap;
    Console console(out, err, options);
    console.run_started(record.info);
    console.note(kHostile);
    for (const Verdict& verdict : record.verdicts) {
      console.running({verdict.facts.id}, {kHostile});
      console.verdict(verdict);
    }
    console.run_ended(record);
  }
  const Style style(color);
  std::string text = out.str() + err.str() + fingerprints_text(record, style, true, true) +
                     ladder_text(record, style, true) + operators_text(record, style, true) +
                     accuracy_text(accuracy_table(record));
  for (const Tolerated& one : tolerated(record)) text += tolerated_line(style, one) + "\n";
  for (const Verdict& verdict : record.verdicts) {
    text += one_line_of(style, verdict, true) + "\n" + story_text(verdict, {.all_outputs = true});
    text += "\n" + cut(clean(std::string(500, 'x') + verdict.origin.stderr_tail), 600) + "\n";
  }
  return text;
}

/// Lines that GitHub takes for a command: it looks behind blanks.
std::vector<std::string> commands_of_github(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t at = 0;
    while (at < line.size() && (line[at] <= ' ' || line[at] == '\x7f')) ++at;
    const std::string_view rest = std::string_view(line).substr(at);
    // A page's own style has one.
    if (rest.starts_with("::") && !rest.starts_with("::selection {")) found.push_back(line);
  }
  return found;
}

/// What nobody's sink may have.
void expect_harmless(const std::string& sink, const std::string& text) {
  SCOPED_TRACE(sink);
  EXPECT_THAT(commands_of_github(text), testing::IsEmpty());
  for (const char* mark : {"##[", "##vso[", "##TeamCity[", "section_start:", "section_end:",
                           "\xe2\x80\xae", "\xe2\x81\xa6", "\r\x1b[0K", "\x1b[2J", "\x1b]0",
                           "\xc2\x9b", "[[ATTACHMENT|/etc", "[[PROPERTY|a=b"}) {
    // Jenkins alone reads these, and in JUnit's reports alone.
    if (std::string_view(mark).starts_with("[[") && sink != "junit") continue;
    const std::size_t at = text.find(mark);
    EXPECT_EQ(at, std::string::npos)
        << mark << " in " << text.substr(at == std::string::npos ? 0 : at, 80);
  }
}

Gate gate_of(const RunRecord& before, const RunRecord& after,
             const std::vector<Allowance>& allowances) {
  ClosedBy all;
  for (const TransitionInfo& each : all_transitions()) all[each.transition] = Closes::any;
  Gate gate = make_gate(before, after, all, allowances);
  gate.eager = compare_eager(before, after);
  return gate;
}

class Strangers : public testing::TestWithParam<int> {
 protected:
  RunRecord record() const { return GetParam() == 0 ? hostile_run() : hostile_sample(); }
};

TEST_P(Strangers, TextActsNowhereInARun) {
  const RunRecord run = record();
  ASSERT_FALSE(run.verdicts.empty());
  expect_harmless("console", console_of(run, false));
  expect_harmless("junit", junit(run, true));
  expect_harmless("page", html(run, "", {SIZE_MAX}));
  expect_harmless("summary", summary(run, true));
  const std::string annotations = github_annotations(run, true);
  EXPECT_FALSE(annotations.empty());
  for (const std::string& line : commands_of_github(annotations))
    EXPECT_TRUE(line.starts_with("::error file=") || line.starts_with("::error title=Lockstep::"))
        << line;
  EXPECT_EQ(commands_of_github(annotations).size(),
            static_cast<std::size_t>(std::ranges::count(annotations, '\n')));
}

TEST_P(Strangers, TextActsNowhereInAGate) {
  const RunRecord before = record();
  RunRecord after = record();
  for (Verdict& verdict : after.verdicts) verdict.found.status = Status::timeout;
  after.verdicts.pop_back();
  after.info.level += kHostile;
  const std::vector<Allowance> allowances = {
      {kHostile, Transition::gone, {"*"}, kHostile, kHostile}};
  const Gate gate = gate_of(before, after, allowances);
  expect_harmless("console", gate_text(gate, Style(false), true));
  expect_harmless("junit", gate_junit(gate));
  expect_harmless("page", gate_page(gate));
  expect_harmless("summary", gate_markdown(gate));
}

INSTANTIATE_TEST_SUITE_P(Runs, Strangers, testing::Values(0, 1));

TEST(Strangers, WordsThatOnlyLookLikeCommandsStay) {
  for (const char* text : {"aten::add.Tensor", "x = ::value", "# comment", "## [1] heading",
                           "a section_started", "C++: ::std", "std::vector<int>\nh = a::b"})
    EXPECT_EQ(disarmed(text), text);
  EXPECT_EQ(disarmed("  ::error::x"), "  : :error::x");
  EXPECT_EQ(disarmed("a\n::x"), "a\n: :x");
  EXPECT_EQ(disarmed("a ##vso[b"), "a # #vso[b");
  EXPECT_EQ(disarmed("section_start:1:x"), "section _start:1:x");
  EXPECT_EQ(disarmed(disarmed(kHostile)), disarmed(kHostile));
  EXPECT_EQ(unmarked("x[[1, 2]] [[PROPERTY|a=b]]"), "x[[1, 2]] [ [PROPERTY|a=b]]");
}

}  // namespace
}  // namespace lockstep
