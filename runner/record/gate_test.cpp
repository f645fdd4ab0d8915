#include "record/gate.h"

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
  EXPECT_TRUE(make_gate(kBefore, kBefore, closing_by_default(), {}).is_open());
  const Gate closed = make_gate(kBefore, kAfter, closing_by_default(), {});
  EXPECT_THAT(closed.changes, SizeIs(2));
  EXPECT_EQ(closed.failing(), 1U) << "the crash; what is fixed fails nothing";
  EXPECT_EQ(failing_of(closed.by_transition().at(Transition::new_crash)), 1U);
  EXPECT_FALSE(closed.is_open());
  EXPECT_TRUE(make_gate(kBefore, kAfter, {}, {}).is_open());
  EXPECT_EQ(make_gate(kBefore, kAfter, {Transition::fixed}, {}).failing(), 1U);
}

TEST(Gate, LetsPassWhatIsAllowed) {
  const std::vector<Allowance> allowances = {
      {"allow.json:3", Transition::fixed, {"a*"}, "another transition", ""},
      {"allow.json:4", Transition::new_crash, {"x", "a@cpu/*"}, "it is known", ""},
      {"allow.json:5", Transition::new_crash, {"*"}, "the first one says why", ""}};
  const Gate gate = make_gate(kBefore, kAfter, closing_by_default(), allowances);
  EXPECT_TRUE(gate.is_open());
  EXPECT_EQ(gate.by_transition().at(Transition::new_crash).front()->allowed, &allowances[1]);
  EXPECT_THAT(gate.unused, ElementsAre(&allowances[0]));
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
