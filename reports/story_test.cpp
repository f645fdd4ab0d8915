#include "reports/story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/closing.h"
#include "reports/style.h"

namespace lockstep {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

Verdict pointwise() {
  Verdict verdict;
  verdict.facts.id = "sweeps/sin@cpu/inductor";
  verdict.facts.operators = {"aten::sin"};
  verdict.found.status = Status::value_diverges;
  verdict.found.reason = "y: why (policy bits): 1 NaN, 4 value";
  for (const char* name : {"y", "z"}) {
    OutputComparison& output = verdict.found.outputs.emplace_back();
    output.name = name;
    output.status = Status::value_diverges;
    output.type = "float16[9]";
    output.policy = "bits";
    output.elements = 9;
    output.differing = 5;
    output.eager = "7.0";
    output.compiled = "8.0";
    output.worst = {8};
    output.classes = {.nan = 1, .value = 4};
    output.first = {{{3}, {"x = 1.5 (0x3e00)", "k = 2 (0x02)"}, "3.0", "nan"},
                    {{4}, {}, "3.0", "4.0"}};
  }
  verdict.found.outputs[1].classes = {.nan = 2, .value = 3};
  return verdict;
}

TEST(Story, PointwiseCasesShowClassesAndTheFirst) {
  EXPECT_EQ(story_text(pointwise()),
            "y: why (policy bits): 1 NaN, 4 value\n"
            "fingerprint sin:compiled-nan\n"
            "y: float16[9] under bits: 5 of 9 elements differ\n"
            "  x = 1.5 (0x3e00), k = 2 (0x02): eager 3.0, compiled nan\n"
            "  at [4]: eager 3.0, compiled 4.0\n"
            "z: float16[9] under bits: 5 of 9 elements differ\n"
            "  2 NaN, 3 value\n"
            "  x = 1.5 (0x3e00), k = 2 (0x02): eager 3.0, compiled nan\n"
            "  at [4]: eager 3.0, compiled 4.0");
}

TEST(Story, SaysWhatEitherSideAloneWarnsOf) {
  Verdict verdict = pointwise();
  verdict.found.warnings = Warnings{3, {"UserWarning: \x1b[31mred"}, {"FutureWarning: b"}};
  const std::string text = story_text(verdict);
  EXPECT_THAT(text, HasSubstr("\ncompiled alone warns: FutureWarning: b"));
  EXPECT_THAT(text, HasSubstr("\neager alone warns: UserWarning: "));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Story, SaysWhichEagerIsMeantWhereItIsNotThatOfTheDevice) {
  Verdict verdict = pointwise();
  EXPECT_THAT(story_text(verdict), Not(HasSubstr("eager is that")));
  verdict.facts.reference = "on cpu, with 4 threads";
  EXPECT_THAT(story_text(verdict), HasSubstr("\neager is that on cpu, with 4 threads\n"));
}

TEST(Story, SaysHowManyThreadsWhereItIsNotThoseOfTheRun) {
  Verdict verdict = pointwise();
  EXPECT_THAT(story_text(verdict), Not(HasSubstr("thread")));
  verdict.facts.threads = 1;
  EXPECT_THAT(story_text(verdict), HasSubstr("\nexecuted with 1 thread\n"));
}

TEST(Story, SaysWhoDidItWhereSomebodyAsked) {
  Verdict verdict = pointwise();
  EXPECT_THAT(story_text(verdict), Not(HasSubstr("explained")));
  verdict.account.explained = {{"sentence", "Inductor, `erf` by itself\n; ends with fall_back"}};
  EXPECT_THAT(story_text(verdict), HasSubstr("\nexplained: Inductor, `erf` by itself"));
}

TEST(Story, OthersShowTheWorst) {
  Verdict verdict = pointwise();
  for (OutputComparison& output : verdict.found.outputs) output.first.clear();
  EXPECT_THAT(story_text(verdict), HasSubstr("  worst at [8]: eager 7.0, compiled 8.0"));
  EXPECT_THAT(story_text(verdict), Not(HasSubstr("2 NaN")));
}

TEST(Story, SharedGraphsAreARemark) {
  Verdict verdict;
  EXPECT_THAT(story_text(verdict), Not(HasSubstr("compiled with")));
  verdict.origin.shared = 1;
  EXPECT_THAT(story_text(verdict), EndsWith("\ncompiled with 1 other"));
  verdict.origin.shared = 1023;
  EXPECT_THAT(one_line_of(Style(false), verdict, false), EndsWith("  compiled with 1,023 others"));
}

TEST(ExecutionRemark, SaysWhoElseExecutedAndWhatWasOnlyStated) {
  Verdict verdict;
  EXPECT_EQ(execution_remark(verdict), "");
  verdict.found.execution = Witness::observed;
  EXPECT_EQ(execution_remark(verdict), "");
  verdict.found.foreign_fraction = 0.4;
  verdict.found.proof = {{"foreign", {{"aten::mm", 2}, {"aten::relu", 1}}}};
  EXPECT_EQ(execution_remark(verdict),
            "40 % ran outside the path's own code: aten::mm, aten::relu");
  verdict.found.status = Status::fell_back;  // its reason says it
  verdict.found.execution = Witness::stated;
  EXPECT_EQ(execution_remark(verdict), "the path states who executed it");
  verdict.found.proof = "a worker may say anything";
  verdict.found.status = Status::conform;
  EXPECT_EQ(execution_remark(verdict),
            "40 % ran outside the path's own code; the path states who executed it");
}

TEST(ExecutionRemark, SaysWhyItIsNotJudged) {
  Verdict verdict;
  verdict.found.permitted_fraction = 0.25;
  EXPECT_EQ(execution_remark(verdict), "25 % ran in operators of `may_call`");
  verdict.found.permitted_fraction = 0.75;
  EXPECT_EQ(execution_remark(verdict), "75 % ran in operators of `may_call`, so it is not judged");
  verdict.found.permitted_fraction = 0;
  verdict.found.unsaid = "a process of its own\nwas there\033[31m";
  EXPECT_EQ(execution_remark(verdict),
            "not judged, for nobody can see who executed it: a process of its own was there");
  verdict.found.unsaid = "";
  verdict.found.never_asked = true;
  EXPECT_EQ(execution_remark(verdict), "");
  verdict.found.compiled_error = RaisedError{};
  EXPECT_EQ(execution_remark(verdict),
            "not judged, for both sides raise before the backend is asked");
}

}  // namespace
}  // namespace lockstep
