#include "judge/outcomes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "judge/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;
using testing::HasSubstr;

Status status(const Observation& eager, const Observation& compiled,
              const std::optional<RaisesRule>& raises = std::nullopt) {
  const auto outcome = judge_outcomes(eager, compiled, {.raises = raises});
  return outcome ? outcome->status : Status::inconclusive;  // stands for "compare the results"
}

const Observation& fine() {
  static const Observation observation = returned(tensor("float32", {1}));
  return observation;
}

TEST(Outcomes, BothReturnedIsNotDecidedHere) { EXPECT_FALSE(judge_outcomes(fine(), fine(), {})); }

TEST(Outcomes, TheTableOfTheDesign) {
  const Observation error = raised("RuntimeError", "boom");
  EXPECT_EQ(status(error, error), Status::conform);
  EXPECT_EQ(status(error, raised("RuntimeError", "another text")), Status::conform);
  EXPECT_EQ(status(error, raised("ValueError", "boom")), Status::error_diverges);
  EXPECT_EQ(status(error, fine()), Status::validation_lost);
  EXPECT_EQ(status(raised("NotImplementedError", "no kernel"), fine()), Status::extension);
  EXPECT_EQ(status(fine(), error), Status::spurious_error);
  for (const Observation* eager : {&fine(), &error}) {
    EXPECT_EQ(status(*eager, raised("InductorError", "g++ failed", "internal")),
              Status::internal_error);
    EXPECT_EQ(status(*eager, raised("Unsupported", "graph break", "refused")), Status::refused);
    EXPECT_EQ(status(*eager, ended(Outcome::crashed, 11)), Status::crash);
    EXPECT_EQ(status(*eager, ended(Outcome::timed_out)), Status::timeout);
    EXPECT_EQ(status(*eager, ended(Outcome::out_of_memory)), Status::oom);
    EXPECT_EQ(status(*eager, ended(Outcome::lost)), Status::worker_lost);
    EXPECT_EQ(status(*eager, ended(Outcome::unsupported)), Status::unsupported);
  }
  EXPECT_EQ(status(ended(Outcome::unsupported), fine()), Status::unsupported);
  EXPECT_EQ(status(ended(Outcome::crashed, 6), fine()), Status::crash);
}

// What accuses the compiler is that it raises another class, not how: a check that a kernel, a meta
// function or a lowering makes is the same check.
TEST(Outcomes, TheSameClassConformsWhoeverRaisesIt) {
  const Observation error = raised("RuntimeError", "boom");
  for (const char* kind : {"error", "refused", "internal"}) {
    EXPECT_EQ(status(error, raised("RuntimeError", "in other words", kind)), Status::conform);
  }
  EXPECT_EQ(judge_outcomes(error, raised("RuntimeError", "in other words"))->reason,
            "both raise; eager RuntimeError: boom; compiled RuntimeError: in other words");
  EXPECT_EQ(judge_outcomes(error, raised("ValueError", "boom"))->reason,
            "eager raises RuntimeError: boom, compiled ValueError: boom");
}

// Eager has no kernel: there is no program, and nothing that compiled code does is wrong, unless
// the process ends.  Neither is it right: nothing was compared.
TEST(Outcomes, WhatEagerDoesNotImplementAccusesNobody) {
  const Observation none = raised("NotImplementedError", "no kernel for Half");
  EXPECT_EQ(status(none, none), Status::conform);
  for (const char* kind : {"error", "refused", "internal"}) {
    const auto outcome = judge_outcomes(none, raised("AssertionError", "lowering", kind));
    EXPECT_EQ(outcome->status, Status::unsupported) << kind;
    EXPECT_FALSE(outcome->declared);
    EXPECT_EQ(outcome->reason,
              "eager raises NotImplementedError: no kernel for Half; compiled AssertionError: "
              "lowering");
  }
  EXPECT_EQ(status(none, ended(Outcome::crashed, 11)), Status::crash);
  EXPECT_EQ(status(none, fine()), Status::extension);
  // A case may be about an error, whichever it is, or about this one.
  const Observation other = raised("RuntimeError", "no kernel for Half", "internal");
  EXPECT_EQ(status(none, other, RaisesRule{}), Status::conform);
  EXPECT_EQ(status(none, other, RaisesRule{"NotImplementedError", ""}), Status::internal_error);
  EXPECT_EQ(status(none, raised("RuntimeError", "Half"), RaisesRule{"", "Half"}),
            Status::error_diverges);
  EXPECT_EQ(status(none, fine(), RaisesRule{}), Status::validation_lost);
}

Status declared_status(const Observation& eager, const Observation& compiled,
                       const RefusalRule& rule) {
  const auto outcome = judge_outcomes(eager, compiled, {.refuses = std::span(&rule, 1)});
  EXPECT_EQ(outcome->declared, outcome->status == Status::unsupported);
  if (outcome->declared) {
    EXPECT_EQ(outcome->reason, "declared: " + rule.reason);
  }
  return outcome->status;
}

TEST(Outcomes, WhatThePathDeclaresToMeanUnsupportedIsSo) {
  const RefusalRule by_class{"*.Unsupported*", "", "no kernel of ours"};
  const Observation refusal = raised("vendor.errors.UnsupportedOp", "sort", "internal");
  const Observation error = raised("RuntimeError", "boom");
  EXPECT_EQ(declared_status(fine(), refusal, by_class), Status::unsupported);
  EXPECT_EQ(declared_status(error, refusal, by_class), Status::unsupported);
  EXPECT_EQ(declared_status(fine(), error, by_class), Status::spurious_error);
  // By the last part of the name, by the text, by the detail; not by what was wrapped around it.
  EXPECT_EQ(declared_status(fine(), refusal, {"UnsupportedOp", "", "a"}), Status::unsupported);
  EXPECT_EQ(declared_status(fine(), error, {"", "^bo+m$", "a"}), Status::unsupported);
  EXPECT_EQ(declared_status(fine(), error, {"ValueError", "^bo+m$", "a"}), Status::spurious_error);
  EXPECT_EQ(declared_status(fine(), refusal, {"UnsupportedOp", "gather", "a"}),
            Status::internal_error);
  Observation wrapped = raised("KeyError", "'sort'", "internal");
  wrapped.error->wrapped = {"vendor.LoweringFailed"};
  wrapped.error->detail = "target: aten.sort.default";
  EXPECT_EQ(declared_status(fine(), wrapped, {"LoweringFailed", "", "a"}), Status::internal_error);
  EXPECT_EQ(declared_status(fine(), wrapped, {"", R"(target: aten\.sort)", "a"}),
            Status::unsupported);
  // What a path declares says nothing of a process that died, nor of an error that eager raises.
  EXPECT_EQ(declared_status(error, raised("RuntimeError", "boom"), {"RuntimeError", "", "a"}),
            Status::conform);
  EXPECT_EQ(declared_status(fine(), ended(Outcome::crashed, 11), {"RuntimeError", "", "a"}),
            Status::crash);
}

// The message of a backend may only say where to look.
TEST(Outcomes, AMessageThatPointsToItsDiagnosticsComesWithThem) {
  Observation failed = raised("VendorError", "compilation failed, see diagnostics", "internal");
  failed.stderr_tail = "loading\ncore.c:3: error: no rule for `sort`\n2 passes ran\n\n";
  const char* points = "the compiler failed: VendorError: compilation failed, see diagnostics";
  EXPECT_EQ(judge_outcomes(fine(), failed)->reason,
            std::string(points) + ": core.c:3: error: no rule for `sort`");
  failed.error->detail = "target: aten.sort.default";
  EXPECT_EQ(
      judge_outcomes(fine(), failed)->reason,
      std::string(points) + " (target: aten.sort.default): core.c:3: error: no rule for `sort`");
  failed.error->detail.clear();
  failed.stderr_tail.clear();
  EXPECT_EQ(judge_outcomes(fine(), failed)->reason, points);
  failed.error->message = "no rule";
  failed.stderr_tail = "error: something else";
  EXPECT_EQ(judge_outcomes(fine(), failed)->reason, "the compiler failed: VendorError: no rule");
  EXPECT_EQ(telling_line("a\nb\n \n"), "b");
  EXPECT_EQ(telling_line(""), "");
}

TEST(Outcomes, ADeclarationMayMatchTheDiagnosticsToWhichAMessagePoints) {
  const RefusalRule legalize = {"", "failed to legalize operation", "There is no lowering."};
  Observation failed = raised("VendorError", "compilation failed, see diagnostics", "internal");
  failed.stderr_tail = "loading\nerror: failed to legalize operation 'vendor.sort'\n2 passes ran\n";
  EXPECT_EQ(declared_status(fine(), failed, legalize), Status::unsupported);
  failed.stderr_tail = "error: out of registers\n";
  EXPECT_EQ(declared_status(fine(), failed, legalize), Status::internal_error);
  // Where the message says what failed, noise before it decides nothing.
  failed.stderr_tail = "failed to legalize operation 'vendor.sort', trying another way\n";
  failed.error->message = "wrong size";
  EXPECT_EQ(declared_status(fine(), failed, legalize), Status::internal_error);
}

TEST(Outcomes, OnlyWhatIsRaisedWithoutABackendIsTheFrontEnds) {
  Observation traced = raised("RuntimeError", "boom");
  traced.error->stage = "trace";
  traced.proof = {{"control", "RuntimeError"}};
  EXPECT_TRUE(is_of_front_end(traced));
  traced.proof = {{"control", "RuntimeError"}, {"backend", {{"called", 1}, {"raised", 1}}}};
  EXPECT_FALSE(is_of_front_end(traced));
  for (const Json& control : {Json("ValueError"), Json(), Json(1)}) {
    traced.proof = {{"control", control}};
    EXPECT_FALSE(is_of_front_end(traced)) << control;
  }
  traced.proof = nullptr;
  EXPECT_FALSE(is_of_front_end(traced));
  traced.proof = {{"control", "RuntimeError"}};
  for (const char* stage : {"lower", "compile", "run", ""}) {
    traced.error->stage = stage;
    EXPECT_FALSE(is_of_front_end(traced)) << stage;
  }
  EXPECT_FALSE(is_of_front_end(fine()));
  EXPECT_FALSE(is_of_front_end(ended(Outcome::crashed, 11)));
}

TEST(Outcomes, SayWhichSideAndSignal) {
  EXPECT_EQ(judge_outcomes(fine(), ended(Outcome::crashed, 11), {})->reason,
            "compiled died of signal 11");
  EXPECT_EQ(judge_outcomes(ended(Outcome::timed_out), fine(), {})->reason,
            "eager did not end in time");
  EXPECT_THAT(judge_outcomes(fine(), raised("RuntimeError", "two\nlines"), {})->reason,
              testing::EndsWith("compiled raises RuntimeError: two lines"));
}

TEST(Outcomes, ClassAndTextAreJudgedWhereTheCaseSaysRaises) {
  const Observation right = raised("RuntimeError", "sizes 3 and 4 do not match");
  const RaisesRule rule{"RuntimeError", "sizes \\d+ and \\d+"};
  EXPECT_EQ(status(right, right, rule), Status::conform);
  EXPECT_EQ(status(right, raised("ValueError", "sizes 3 and 4"), rule), Status::error_diverges);
  EXPECT_EQ(status(right, raised("RuntimeError", "boom"), rule), Status::error_diverges);
  EXPECT_THAT(judge_outcomes(right, raised("RuntimeError", "boom"), {.raises = rule})->reason,
              testing::EndsWith(R"(expected text matching "sizes \d+ and \d+")"));
  // A case that leaves the class open does not allow another one than eager's.
  EXPECT_EQ(status(right, raised("ValueError", "sizes 3 and 4"), RaisesRule{"", "sizes"}),
            Status::error_diverges);
  EXPECT_EQ(status(raised("ValueError", "boom"), right, rule), Status::harness);
  EXPECT_EQ(status(fine(), right, rule), Status::harness);
  EXPECT_EQ(status(right, fine(), rule), Status::validation_lost);
}

// The saboteur is the case: one that expects what its reference does not do must say so on every
// path, whatever the path does, and never look like an extension or a crash.
TEST(Outcomes, AWrongCaseIsWrongOnEveryPath) {
  const RaisesRule rule{"NotImplementedError", ""};
  const Observation other = raised("RuntimeError", "no kernel");
  const Observation right = raised("NotImplementedError", "no kernel");
  for (const Observation& compiled :
       {fine(), other, right, raised("InductorError", "g++ failed", "internal"),
        raised("Unsupported", "graph break", "refused"), ended(Outcome::crashed, 11),
        ended(Outcome::timed_out)}) {
    EXPECT_EQ(status(other, compiled, rule), Status::harness) << name_of(compiled.outcome);
    EXPECT_EQ(status(fine(), compiled, rule), Status::harness) << name_of(compiled.outcome);
    EXPECT_EQ(status(other, compiled, RaisesRule{"", "("}), Status::harness);
  }
  EXPECT_EQ(status(right, fine(), rule), Status::validation_lost);
  EXPECT_EQ(status(right, other, rule), Status::error_diverges);
  EXPECT_EQ(status(right, ended(Outcome::crashed, 11), rule), Status::crash);
  EXPECT_EQ(status(right, raised("Unsupported", "graph break", "refused"), rule), Status::refused);
  EXPECT_EQ(status(right, ended(Outcome::unsupported), rule), Status::unsupported);
}

Observation ended_in(std::string stage, Outcome outcome, int signal = 0) {
  Observation observation = ended(outcome, signal);
  observation.stage = std::move(stage);
  return observation;
}

// C++ eager has no spelling for a `call`, and a process that died left no observation of eager
// Python: that must not hide what it died of.
TEST(Outcomes, ADeadCompilerIsFoundWithoutAReference) {
  const Observation none = ended(Outcome::unsupported);
  for (const char* stage : {"trace", "lower", "compile", "run", "write", "start", ""}) {
    EXPECT_EQ(status(none, ended_in(stage, Outcome::crashed, 11)), Status::crash) << stage;
    EXPECT_EQ(status(none, ended_in(stage, Outcome::timed_out)), Status::timeout) << stage;
    EXPECT_EQ(status(none, ended_in(stage, Outcome::out_of_memory)), Status::oom) << stage;
    EXPECT_EQ(status(none, ended_in(stage, Outcome::lost)), Status::worker_lost) << stage;
  }
  EXPECT_EQ(judge_outcomes(none, ended_in("run", Outcome::crashed, 11), {})->reason,
            "compiled died of signal 11 in stage run");
  EXPECT_EQ(status(none, fine()), Status::unsupported);
  EXPECT_EQ(status(none, ended(Outcome::unsupported)), Status::unsupported);
}

// Who is to blame for a process that died before it compiled: not the compiler, whatever C++ eager
// did, unless C++ eager died as well, and the program is what kills.  Too little memory and a lost
// worker accuse nobody of a wrong result and keep their names.  A path that compiles nothing is
// eager Python itself: it is on trial.
TEST(Outcomes, WhoDiesBeforeCompilingIsTheHarness) {
  const Observation none = ended(Outcome::unsupported);
  for (const char* stage : {"prepare", "eager"}) {
    for (const Observation* eager : {&none, &fine()}) {
      EXPECT_EQ(status(*eager, ended_in(stage, Outcome::crashed, 11)), Status::harness) << stage;
      EXPECT_EQ(status(*eager, ended_in(stage, Outcome::timed_out)), Status::harness) << stage;
      EXPECT_EQ(status(*eager, ended_in(stage, Outcome::out_of_memory)), Status::oom) << stage;
      EXPECT_EQ(status(*eager, ended_in(stage, Outcome::lost)), Status::worker_lost) << stage;
      EXPECT_EQ(judge_outcomes(*eager, ended_in(stage, Outcome::crashed, 11), {.compiles = false})
                    ->status,
                Status::crash);
    }
    EXPECT_EQ(status(ended(Outcome::crashed, 6), ended_in(stage, Outcome::crashed, 6)),
              Status::crash);
  }
  EXPECT_EQ(judge_outcomes(none, ended_in("eager", Outcome::crashed, 11), {})->reason,
            "before anything was compiled, eager in Python died of signal 11 in stage eager");
}

TEST(Outcomes, WhatOnlyTheCpuRaisesIsNotAskedElsewhere) {
  const RaisesRule rule{"", "index"};
  for (const Observation& eager : {fine(), raised("AcceleratorError", "device-side assert")}) {
    const auto found = judge_outcomes(eager, fine(), {.raises = rule, .device = "cuda:0"});
    EXPECT_EQ(found->status, Status::unsupported);
    EXPECT_THAT(found->reason, testing::StartsWith("on cuda:0: "));
  }
  const Observation right = raised("IndexError", "index 4");
  EXPECT_EQ(judge_outcomes(right, fine(), {.raises = rule, .device = "cuda:0"})->status,
            Status::validation_lost);
}

TEST(Outcomes, ABrokenPatternIsAnErrorAndALongMessageIsSearchedWhole) {
  const RaisedError error{
      "run", "RuntimeError", std::string(1 << 20, 'a') + "b", {}, ErrorKind::error};
  const auto broken = raises_difference({"", "("}, error);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("cannot match"));
  EXPECT_EQ(*raises_difference({"", "^a*"}, error), "");
  EXPECT_EQ(*raises_difference({"", "ab$"}, error), "");
  EXPECT_THAT(*raises_difference({"", "c"}, error), HasSubstr("expected text matching"));
}

TEST(Outcomes, ARaisedObservationWithoutErrorIsTheWorkersFault) {
  EXPECT_EQ(status(fine(), ended(Outcome::raised)), Status::worker_lost);
}

}  // namespace
}  // namespace lockstep
