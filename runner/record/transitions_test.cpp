#include "record/transitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "plan/plan.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Verdict verdict_of(const std::string& id, Status status, Grade grade = Grade::bits) {
  Verdict verdict;
  verdict.facts.id = id;
  verdict.facts.instance = id.substr(0, id.rfind('/'));
  verdict.facts.path = id.substr(id.rfind('/') + 1);
  verdict.found.status = status;
  verdict.facts.operators = {"aten::add.Tensor"};
  verdict.facts.program = "y = aten::add(x, x)";
  OutputComparison& output = verdict.found.outputs.emplace_back();
  output.name = "y";
  output.status = status;
  if (status == Status::conform || status == Status::value_diverges) {
    output.grade = verdict.found.grade = status == Status::conform ? grade : Grade::none;
    output.differing = status == Status::conform ? 0 : 12;
    output.elements = 20;
  }
  return verdict;
}

RunRecord run_of(std::vector<Verdict> verdicts) {
  RunRecord run;
  run.info.version = "0.1.0";
  run.environment = {{"eager", {{"torch", "2.13.0"}}}, {"machine", {{"host", "a"}}}};
  std::vector<std::string_view> ids;
  for (Verdict& verdict : verdicts) {
    verdict.facts.index = ids.size();
    ids.push_back(verdict.facts.id);
  }
  run.info.plan = digest_of(ids);
  run.info.planned = verdicts.size();
  run.verdicts = std::move(verdicts);
  run.end = RunEnd{};
  return run;
}

/// "name id" of each change.
std::vector<std::string> changes(const RunRecord& before, const RunRecord& after) {
  std::vector<std::string> lines;
  for (const Change& change : compare_runs(before, after).changes)
    lines.push_back(std::string(info(change.transition).name) + " " + change.id);
  return lines;
}

/// What becomes of one verdict; empty where nothing does.
std::string became(Status from, Status to) {
  const auto lines =
      changes(run_of({verdict_of("bugs/1@cpu/a", from)}), run_of({verdict_of("bugs/1@cpu/a", to)}));
  return lines.empty() ? "" : lines.front().substr(0, lines.front().find(' '));
}

TEST(Transitions, OfStatuses) {
  using enum Status;
  const std::tuple<Status, Status, const char*> cases[] = {
      {conform, conform, ""},
      {conform, value_diverges, "new_divergence"},
      {conform, aliasing_diverges, "new_divergence"},
      {conform, internal_error, "new_error"},
      {conform, validation_lost, "new_error"},
      {conform, crash, "new_crash"},
      {conform, timeout, "new_crash"},
      {conform, oom, "new_crash"},
      {conform, refused, "refused"},
      {conform, fell_back, "fell_back"},
      {conform, not_compiled, "fell_back"},
      {conform, unsupported, "not_judged"},
      {conform, inconclusive, "not_judged"},
      {conform, extension, "not_judged"},
      {conform, harness, "new_error"},
      {extension, conform, "now_judged"},
      {value_diverges, conform, "fixed"},
      {crash, conform, "fixed"},
      {refused, conform, "fixed"},
      {fell_back, conform, "fixed"},
      {unsupported, conform, "now_judged"},
      {unsupported, value_diverges, "new_divergence"},
      {refused, value_diverges, "new_divergence"},
      {fell_back, crash, "new_crash"},
      {value_diverges, crash, "new_crash"},
      {value_diverges, internal_error, "new_error"},
      {crash, value_diverges, "changed"},
      {crash, internal_error, "changed"},
      {value_diverges, metadata_diverges, "changed"},
      {internal_error, refused, "changed"},
      {value_diverges, unsupported, "not_judged"},
      {value_diverges, fell_back, "fell_back"},
      {value_diverges, value_diverges, ""},
      {crash, timeout, "changed"},
      {unsupported, inconclusive, ""},
  };
  for (const auto& [from, to, expected] : cases)
    EXPECT_EQ(became(from, to), expected) << info(from).name << " " << info(to).name;
}

// Every status leads somewhere, and what fails never becomes nothing in silence.
TEST(Transitions, NoStatusIsSilent) {
  for (const StatusInfo& each : all_statuses()) {
    if (each.status == Status::conform) continue;
    EXPECT_NE(became(Status::conform, each.status), "") << each.name;
    EXPECT_NE(became(each.status, Status::conform), "") << each.name;
    EXPECT_TRUE(find_transition(became(Status::conform, each.status))->fails) << each.name;
  }
}

TEST(Transitions, OfGrades) {
  const auto graded = [](Grade grade) {
    return run_of({verdict_of("bugs/1@cpu/a", Status::conform, grade)});
  };
  EXPECT_THAT(changes(graded(Grade::bits), graded(Grade::ulp4)),
              ElementsAre("grade_lost bugs/1@cpu/a"));
  EXPECT_THAT(changes(graded(Grade::close), graded(Grade::ulp4)),
              ElementsAre("grade_gained bugs/1@cpu/a"));
  EXPECT_THAT(changes(graded(Grade::close), graded(Grade::close)), IsEmpty());
}

// Each number of a finding counts, also of one that is known in both.
TEST(Transitions, SeeAnotherFinding) {
  const Verdict verdict = verdict_of("bugs/1@cpu/a", Status::value_diverges);
  const std::function<void(Verdict&)> others[] = {
      [](Verdict& other) { other.found.outputs[0].differing = 13; },
      [](Verdict& other) { other.found.outputs[0].max_abs = 2; },
      [](Verdict& other) { other.found.outputs[0].max_ulp = 2; },
      [](Verdict& other) { other.found.outputs[0].worst = {3}; },
      [](Verdict& other) { other.found.outputs[0].eager = "1.0"; },
      [](Verdict& other) { other.found.outputs[0].compiled = "nan"; },
      [](Verdict& other) { other.found.outputs[0].name = "z"; },
      [](Verdict& other) {
        other.found.compiled_error = RaisedError{"run", "KeyError", "", {}};
      },
      [](Verdict& other) { other.found.outputs.push_back(other.found.outputs[0]); },
      [](Verdict& other) {
        other.found.status = other.found.outputs[0].status = Status::nonfinite_diverges;
      }};
  for (const auto& change : others) {
    Verdict before = verdict, after = verdict;
    before.account.standing = after.account.standing = Standing::known;
    change(after);
    EXPECT_THAT(changes(run_of({before}), run_of({after})), ElementsAre("changed bugs/1@cpu/a"));
  }
  Verdict slower = verdict;  // what no two runs share
  slower.origin.seconds = 9;
  slower.origin.peak_memory_bytes = 7;
  slower.account.standing = Standing::known;
  const RunComparison same = compare_runs(run_of({verdict}), run_of({slower}));
  EXPECT_THAT(same.changes, IsEmpty());
  EXPECT_EQ(same.unchanged, 1U);
}

TEST(Transitions, AMissingVerdictIsNeverSilence) {
  const Verdict one = verdict_of("bugs/1@cpu/a", Status::conform),
                two = verdict_of("bugs/2@cpu/a", Status::value_diverges),
                other = verdict_of("bugs/1@cpu/b", Status::conform);
  EXPECT_THAT(changes(run_of({one, two}), run_of({two})), ElementsAre("gone bugs/1@cpu/a"));
  EXPECT_THAT(changes(run_of({two}), run_of({one, two})), ElementsAre("new_case bugs/1@cpu/a"));
  // A path's verdicts go and come together.
  EXPECT_THAT(changes(run_of({one, other}), run_of({one})), ElementsAre("path_absent b"));
  EXPECT_THAT(changes(run_of({one}), run_of({one, other})), ElementsAre("path_appeared b"));
  EXPECT_TRUE(info(Transition::gone).fails && info(Transition::path_absent).fails);
}

// A registry that grew is not an instance that is gone.
TEST(Transitions, TellOfOperatorsOfSweeps) {
  const Verdict one = verdict_of("bugs/1@cpu/a", Status::conform);
  Verdict swept = verdict_of("sweeps/unary[op=erf]@cpu/a", Status::conform);
  swept.facts.tags = {"sweep"};
  swept.facts.operators = {"aten::erf"};
  EXPECT_THAT(changes(run_of({one}), run_of({one, swept})),
              ElementsAre("operator_appeared aten::erf"));
  EXPECT_THAT(changes(run_of({one, swept}), run_of({one})),
              ElementsAre("operator_removed aten::erf"));
  Verdict known = verdict_of("bugs/3@cpu/a", Status::conform);  // which a case knows, too
  known.facts.operators = {"aten::erf"};
  EXPECT_THAT(changes(run_of({known, swept}), run_of({known})),
              ElementsAre("gone sweeps/unary[op=erf]@cpu/a"));
}

TEST(Transitions, OfCasesAndSettings) {
  Verdict before = verdict_of("bugs/1@cpu/a", Status::conform), after = before;
  after.facts.program = "y = aten::add(x, 1)";
  after.found.status = Status::value_diverges;
  EXPECT_THAT(changes(run_of({before}), run_of({after})), ElementsAre("case_changed bugs/1@cpu/a"));
  const auto changed = [&](const std::function<void(RunRecord&)>& change) {
    RunRecord other = run_of({before});
    change(other);
    return changes(run_of({before}), other);
  };
  EXPECT_THAT(changed([](RunRecord& run) { run.environment["eager"]["torch"] = "2.15.0"; }),
              ElementsAre("environment_changed torch of the eager worker"));
  EXPECT_THAT(changed([](RunRecord& run) { run.info.level = "core"; }),
              ElementsAre("environment_changed level"));
  EXPECT_THAT(changed([](RunRecord& run) { run.info.digests["cases"] = "ab"; }),
              ElementsAre("environment_changed digest of cases"));
  EXPECT_THAT(changed([](RunRecord& run) { run.info.version = "0.2.0"; }),
              ElementsAre("environment_changed lockstep"));
  EXPECT_THAT(changed([](RunRecord& run) { run.environment["machine"]["host"] = "b"; }), IsEmpty());
}

TEST(Transitions, ComeInTheOrderOfTheTable) {
  const auto of = [](int number, Status status) {
    return verdict_of("bugs/" + std::to_string(number) + "@cpu/a", status);
  };
  EXPECT_THAT(
      changes(
          run_of({of(1, Status::crash), of(2, Status::conform), of(3, Status::conform)}),
          run_of({of(1, Status::conform), of(2, Status::value_diverges), of(3, Status::crash)})),
      ElementsAre("new_crash bugs/3@cpu/a", "new_divergence bugs/2@cpu/a", "fixed bugs/1@cpu/a"));
  std::set<std::string_view> names, labels;
  for (const TransitionInfo& each : all_transitions()) {
    EXPECT_TRUE(names.insert(each.name).second && labels.insert(each.label).second) << each.name;
    EXPECT_EQ(find_transition(each.name), &each);
  }
  EXPECT_EQ(find_transition("x"), nullptr);
}

TEST(Transitions, NothingIsSaidOfHalfARunOrAChangedOne) {
  const RunRecord whole = run_of(
      {verdict_of("bugs/1@cpu/a", Status::conform), verdict_of("bugs/2@cpu/a", Status::conform)});
  const auto unfit = [&](const std::function<void(RunRecord&)>& change) {
    RunRecord run = whole;
    change(run);
    return unfit_to_compare(run);
  };
  EXPECT_EQ(unfit_to_compare(whole), "");
  EXPECT_THAT(unfit([](RunRecord& run) { run.end.reset(); }), testing::HasSubstr("has no end"));
  EXPECT_EQ(unfit([](RunRecord& run) { run.verdicts.pop_back(); }), "it has 1 of 2 verdicts");
  EXPECT_EQ(unfit([](RunRecord& run) { run.end->interrupted = true; }), "it was interrupted");
  EXPECT_THAT(unfit([](RunRecord& run) { run.verdicts[1].facts.id = "bugs/3@cpu/a"; }),
              testing::HasSubstr("the log was changed"));
  EXPECT_THAT(unfit([](RunRecord& run) {
                run.info.shard = ShardInfo{1, 2, "", 4};
              }),
              testing::HasSubstr("shard 1/2"));
}

// Eager is the reference: what it does otherwise is told apart from what compilers do.
TEST(Transitions, OfEagerAreATableOfTheirOwn) {
  const auto run = [](const std::string& digest, const char* error) {
    std::vector<Verdict> verdicts;
    for (const char* id : {"a@cpu/x", "a@cpu/y", "b@cpu/x", "c@cpu/x"})
      verdicts.push_back(verdict_of(id, Status::conform));
    verdicts[0].found.eager_digest = "";  // of another path it is known
    verdicts[1].found.eager_digest = digest;
    verdicts[2].found.eager_digest = "22";
    if (error != nullptr) verdicts[2].found.eager_error = RaisedError{"eager", error, "", {}};
    return run_of(std::move(verdicts));
  };
  const EagerComparison same = compare_eager(run("11", nullptr), run("11", nullptr));
  EXPECT_TRUE(same.changes.empty());
  EXPECT_EQ(same.same, 2U);
  EXPECT_EQ(same.unknown, 1U);
  const EagerComparison other = compare_eager(run("11", nullptr), run("12", "RuntimeError"));
  ASSERT_EQ(other.changes.size(), 2U);
  EXPECT_EQ(other.changes[0].instance, "a@cpu");
  EXPECT_EQ(other.changes[0].text, "other bits");
  EXPECT_EQ(other.changes[1].text, "returned → raises RuntimeError");
  EXPECT_EQ(compare_runs(run("11", nullptr), run("12", nullptr)).unchanged, 4U);
}

}  // namespace
}  // namespace lockstep
