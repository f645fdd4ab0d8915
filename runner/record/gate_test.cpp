#include "record/gate_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// A run in which these verdicts have these statuses.
RunRecord judged_run(const std::vector<std::pair<std::string, Status>>& verdicts) {
  RunRecord run;
  std::vector<std::string_view> ids;
  for (const auto& [id, status] : verdicts) {
    Verdict& verdict = run.verdicts.emplace_back();
    verdict.facts.index = ids.size();
    verdict.facts.id = id;
    verdict.facts.instance = id.substr(0, id.rfind('/'));
    verdict.facts.path = id.substr(id.rfind('/') + 1);
    verdict.found.status = status;
    ids.push_back(id);
  }
  run.info.plan = digest_of(ids);
  run.info.planned = verdicts.size();
  run.end = RunEnd{};
  return run;
}

const RunRecord kBefore =
    judged_run({{"a@cpu/inductor", Status::conform}, {"b@cpu/inductor", Status::value_diverges}});
const RunRecord kAfter =
    judged_run({{"a@cpu/inductor", Status::crash}, {"b@cpu/inductor", Status::conform}});

TEST(Gate, IsClosedByWhatFailsAlone) {
  EXPECT_TRUE(make_gate(kBefore, kBefore, closed_by_default(Closes::any), {}).is_open());
  const Gate closed = make_gate(kBefore, kAfter, closed_by_default(Closes::any), {});
  EXPECT_THAT(closed.changes, SizeIs(2));
  EXPECT_EQ(closed.failing(), 1U) << "the crash; what is fixed fails nothing";
  EXPECT_EQ(failing_of(closed.by_transition().at(Transition::new_crash)), 1U);
  EXPECT_FALSE(closed.is_open());
  EXPECT_TRUE(make_gate(kBefore, kAfter, {}, {}).is_open());
  EXPECT_EQ(make_gate(kBefore, kAfter, {{Transition::fixed, Closes::any}}, {}).failing(), 1U);
}

TEST(Gate, LetsPassWhatIsAllowed) {
  const std::vector<Allowance> allowances = {
      {"allow.json:3", Transition::fixed, {"a*"}, "another transition", ""},
      {"allow.json:4", Transition::new_crash, {"x", "a@cpu/*"}, "it is known", ""},
      {"allow.json:5", Transition::new_crash, {"*"}, "the first one says why", ""}};
  const Gate gate = make_gate(kBefore, kAfter, closed_by_default(Closes::any), allowances);
  EXPECT_TRUE(gate.is_open());
  EXPECT_EQ(gate.by_transition().at(Transition::new_crash).front()->allowed, &allowances[1]);
  EXPECT_THAT(gate.unused, ElementsAre(&allowances[0]));
}

TEST(Gate, OfANightlyIsClosedByWhatNothingAccountsForAlone) {
  RunRecord after = kAfter;
  EXPECT_FALSE(make_gate(kBefore, after, closed_by_default(Closes::unknown), {}).is_open());
  after.verdicts[0].account.standing = Standing::known;
  after.verdicts[0].account.expectation.emplace().reason = "a report";
  EXPECT_TRUE(make_gate(kBefore, after, closed_by_default(Closes::unknown), {}).is_open());
  EXPECT_FALSE(make_gate(kBefore, after, closed_by_default(Closes::any), {}).is_open());
}

TEST(Gate, OfOtherSelectionsComparesWhatBothHave) {
  RunRecord after = judged_run({{"a@cpu/inductor", Status::conform}});
  EXPECT_FALSE(make_gate(kBefore, after, closed_by_default(Closes::any), {}).is_open());
  const Gate gate = make_gate(kBefore, after, closed_by_default(Closes::any), {}, true);
  EXPECT_TRUE(gate.is_open());
  EXPECT_EQ(gate.unchanged, 1U);
  EXPECT_THAT(gate.unlike, ElementsAre(HasSubstr("1 of the first alone, 0 of")));
}

TEST(Gate, SaysWhatIsNotAlike) {
  RunRecord before = kBefore, after = kBefore;
  EXPECT_THAT(make_gate(before, after, {}, {}).unlike, SizeIs(0));
  before.environment = {{"machine", {{"cpu", "one"}, {"threads", 1}}},
                        {"eager", {{"torch", "2.13.0+cpu"}, {"cpu_capability", "AVX2"}}},
                        {"compiled", {{"package vendor", "1.0"}}}};
  after.environment = before.environment;
  after.environment["eager"]["torch"] = "2.15.0+cpu";
  EXPECT_THAT(make_gate(before, after, {}, {}).unlike, SizeIs(0)) << "what is tried";
  after.environment["eager"]["torch"] = "2.15.0+cu132";
  after.environment["eager"]["cpu_capability"] = "AVX512";
  after.environment["machine"]["threads"] = 2;
  after.environment["compiled"]["package vendor"] = "2.0";
  after.info.digests["cases"] = "ab";
  EXPECT_THAT(
      make_gate(before, after, {}, {}).unlike,
      ElementsAre("wheels of two kinds: 2.13.0+cpu before, 2.15.0+cu132 after",
                  "threads: 1 before, 2 after", "torch's CPU level: AVX2 before, AVX512 after",
                  "the cases are not the same", "package vendor: 1.0 before, 2.0 after"));
}

TEST(GateRows, AreOneForWhatHappenedOnce) {
  RunRecord before = judged_run({{"a[n=1]@cpu/inductor", Status::conform},
                                 {"a[n=1]@cpu/aot_eager", Status::conform},
                                 {"b@cpu/inductor", Status::conform},
                                 {"c@cpu/inductor", Status::conform},
                                 {"c[n=2]@cpu/inductor", Status::conform}});
  before.verdicts[3].facts.operators = {"aten::neg.default", "aten::sym_size.int"};
  RunRecord after = judged_run({{"a[n=1]@cpu/inductor", Status::crash},
                                {"a[n=1]@cpu/aot_eager", Status::crash},
                                {"b@cpu/inductor", Status::crash}});
  for (std::size_t i = 0; i < 2; ++i) after.verdicts[i].facts.operators = {"aten::relu.default"};
  after.verdicts[2].facts.operators = {"aten::sin.default"};
  after.verdicts[2].account.standing = Standing::known;
  after.verdicts[2].account.expectation.emplace().link = "https://example.org/1";
  after.verdicts[2].account.explained = {{"sentence", "Inductor, `sin`"}};
  const Gate gate = make_gate(before, after, closed_by_default(Closes::any), {});
  const std::vector<GateRow> rows = rows_of(gate);
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows[0].name, HasSubstr("relu:crash"));
  EXPECT_THAT(rows[0].changes, SizeIs(2));
  EXPECT_THAT(rows[0].paths, ElementsAre("aot_eager", "inductor"));
  EXPECT_THAT(rows[0].operators, ElementsAre("relu"));
  EXPECT_EQ(rows[0].known, nullptr);
  EXPECT_THAT(rows[1].name, HasSubstr("sin:crash")) << "what is known comes after what is not";
  EXPECT_THAT(rows[1].links, ElementsAre("https://example.org/1"));
  EXPECT_EQ(rows[1].explained, "Inductor, `sin`");
  EXPECT_EQ(rows[2].name, "c") << "what is gone has no fingerprint: its case";
  EXPECT_THAT(rows[2].changes, SizeIs(2));
  EXPECT_THAT(rows[2].operators, ElementsAre("neg")) << "of the program, as nobody is accused";
  const ClosingRows closing = closing_rows(rows);
  EXPECT_EQ(closing.rows, 3U);
  EXPECT_EQ(closing.verdicts, 5U);
  EXPECT_EQ(closing.known, 1U);
  EXPECT_EQ(closing.reported, 1U);
}

TEST(Gate, ReadsAllowances) {
  JsonFile file{"allow.json",
                R"({"format": 1, "allow": [
    {"transition": "new_crash", "ids": ["a*"], "reason": "known", "link": "https://example.org"},
    {"transition": "new_crush", "ids": ["a*"]}]})",
                {}};
  Diagnostics diagnostics;
  parse_json(file, diagnostics);
  const auto allowances = decode_allowances(file, diagnostics);
  ASSERT_THAT(allowances, SizeIs(2));
  EXPECT_EQ(allowances[0].where, "allow.json:2");
  EXPECT_EQ(allowances[0].transition, Transition::new_crash);
  EXPECT_THAT(allowances[0].ids, ElementsAre("a*"));
  ASSERT_THAT(diagnostics, SizeIs(2));
  EXPECT_THAT(to_string(diagnostics[0]), HasSubstr("did you mean `new_crash`?"));
  EXPECT_THAT(to_string(diagnostics[1]), HasSubstr("why it may be"));
}

}  // namespace
}  // namespace lockstep
