#include "reports/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/fixtures.h"
#include "reports/gate_page.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

ClosedBy all() {
  ClosedBy every;
  for (const TransitionInfo& each : all_transitions()) every[each.transition] = Closes::any;
  return every;
}

/// A page without what the build put into it.
std::string body_of(const std::string& page) {
  const std::size_t begin = page.find("<main>");
  return page.substr(begin, page.find("</main>") - begin);
}

// Ids, reasons and paths of two strangers' logs, in all that is written of them.
TEST(GateReport, NothingBreaksOut) {
  const RunRecord before = hostile_run();
  RunRecord after = hostile_run();
  for (Verdict& verdict : after.verdicts) verdict.found.status = Status::timeout;
  after.verdicts.pop_back();
  after.info.level = before.verdicts.front().facts.id;
  const std::string nasty = before.verdicts.front().found.reason;
  const std::vector<Allowance> allowances = {{nasty, Transition::gone, {"*"}, nasty, nasty}};
  const Gate gate = make_gate(before, after, all(), allowances);
  EXPECT_GT(gate.changes.size(), 1U);
  const std::string console = gate_text(gate, Style(false), true);
  EXPECT_THAT(console, Not(HasSubstr("\x1b")));
  for (const std::string& text :
       {gate_markdown(gate), gate_junit(gate), body_of(gate_page(gate))}) {
    EXPECT_THAT(text, Not(HasSubstr("<script")));
    EXPECT_THAT(text, Not(HasSubstr("<!--")));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  }
}

TEST(GateReport, StaysSmallWhateverChanges) {
  const RunRecord before = large_run(20000);
  RunRecord after = before;
  for (Verdict& verdict : after.verdicts)
    verdict.found.status = verdict.found.status == Status::crash ? Status::conform : Status::crash;
  const Gate gate = make_gate(before, after, all(), {});
  EXPECT_EQ(gate.changes.size() + gate.unchanged, 20000U);
  EXPECT_LE(gate_markdown(gate).size(), 60'000U);
  EXPECT_THAT(gate_markdown(gate), HasSubstr("more"));
  EXPECT_LE(gate_junit(gate).size(), 30'000'000U);
  EXPECT_LE(gate_page(gate, 500'000).size(), 600'000U);
  EXPECT_THAT(gate_page(gate, 500'000), HasSubstr("more, which <code>gate --json</code> has"));
  EXPECT_LT(gate_text(gate, Style(false), false).size(), 100'000U);
  EXPECT_EQ(gate_json(gate)["changes"].size(), gate.changes.size());
}

TEST(GateReport, OfARunAndItselfIsOpen) {
  const RunRecord run = sample_run();
  const Gate gate = make_gate(run, run, all(), {});
  EXPECT_EQ(gate.failing(), 0U);
  EXPECT_EQ(gate.unchanged, run.verdicts.size());
  EXPECT_THAT(gate_text(gate, Style(false), false),
              HasSubstr("the gate is open: 26 verdicts unchanged, 0 changes"));
}

TEST(GateReport, OpenSaysWhatIsWorseAndKnown) {
  const RunRecord before = sample_run();
  RunRecord after = before;
  const auto verdict =
      std::find_if(after.verdicts.begin(), after.verdicts.end(),
                   [](const Verdict& each) { return each.found.status == Status::conform; });
  ASSERT_NE(verdict, after.verdicts.end());
  verdict->found.status = Status::crash;
  verdict->account.standing = Standing::known;
  verdict->account.expectation.emplace().reason = "It is reported.";
  verdict->facts.operators = {"aten::sin.default"};
  const std::string says = "1 change; 1 fingerprint is worse and known to the suite";
  EXPECT_THAT(gate_text(make_gate(before, after, closed_by_default(Closes::unknown), {}),
                        Style(false), false),
              HasSubstr(says));
  const Gate closed = make_gate(before, after, closed_by_default(Closes::any), {});
  EXPECT_THAT(gate_text(closed, Style(false), false), Not(HasSubstr(says)));
  EXPECT_THAT(gate_json(closed)["rows"][0]["operators"][0], "sin");
}

// README.md links to it.
TEST(Gate, ThePageToLookAtIsCurrent) {
  const RunRecord before = sample_run();
  RunRecord after = before;
  after.info.started = "2026-11-22T10:00:00Z";
  const auto becomes = [&](const std::string& id, Status status, std::optional<Grade> grade,
                           const std::string& reason) {
    const auto verdict = std::find_if(after.verdicts.begin(), after.verdicts.end(),
                                      [&](const Verdict& each) { return each.facts.id == id; });
    ASSERT_NE(verdict, after.verdicts.end()) << id;
    verdict->found.status = status;
    verdict->found.grade = grade;
    verdict->found.reason = reason;
  };
  becomes("ops/softmax/last-dim[dtype=bfloat16]@cpu/aot_eager", Status::value_diverges, Grade::none,
          "output y: 3 of 4,096 elements differ");
  becomes("ops/log/zero@cpu/inductor", Status::conform, Grade::bits, "");
  becomes("ops/outer/small@cpu/inductor", Status::refused, {}, "the compiler refuses outer");
  becomes("bugs/170002-empty-cat@cpu/inductor", Status::crash, {}, "ended by signal 11");
  after.verdicts.pop_back();
  const std::vector<Allowance> allowances = {{"allow.json:1",
                                              Transition::gone,
                                              {"random/*"},
                                              "the case left the suite",
                                              "https://example.org/1"}};
  const Gate gate = make_gate(before, after, closed_by_default(Closes::any), allowances);
  EXPECT_EQ(gate.changes.size(), 5U);
  expect_golden("sample.gate.html", gate_page(gate));
}

}  // namespace
}  // namespace lockstep
