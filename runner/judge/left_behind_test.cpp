#include "judge/left_behind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/fixtures.h"
#include "verdict/fingerprint.h"

// What calls leave behind beside their results: every fact is shown to pass, and to fail when a
// saboteur changes it.

namespace lockstep {
namespace {

using namespace fixtures;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const ProcessState kState{{{"cpu", "1111"}}, {{"grad", "true"}, {"threads", "1"}}};

Observation left(const ProcessState& state) {
  Observation observation = returned(tensor("float32", {1, 2, 3}));
  for (Repetition& repetition : observation.repetitions) repetition.front().state = state;
  return observation;
}

std::string fingerprint_of(const Findings& found) {
  CaseFacts facts;
  facts.operators = {"aten::relu.default"};
  return fingerprints_of(facts, found).front().name;
}

TEST(LeftBehind, WhatIsTheSameOrWasNotObservedConforms) {
  EXPECT_EQ(judge_under(left(kState), left(kState), "bits").status, Status::conform);
  EXPECT_EQ(judge_under(left(kState), left({}), "bits").status, Status::conform);
  EXPECT_EQ(judge_under(left({}), left(kState), "bits").status, Status::conform);
  ProcessState more = kState;
  more.modes["vendor_mode"] = "on";
  EXPECT_EQ(judge_under(left(kState), left(more), "bits").status, Status::conform);
}

TEST(LeftBehind, AModeThatIsLeftChangedIsFound) {
  ProcessState other = kState;
  other.modes["grad"] = "false";
  const Findings found = judge_under(left(kState), left(other), "bits");
  EXPECT_EQ(found.status, Status::state_diverges);
  EXPECT_EQ(found.reason, "mode grad: true, compiled false, after repetition 1");
  EXPECT_EQ(found.grade, Grade::bits);
  EXPECT_EQ(fingerprint_of(found), "relu:mode-grad");
  // Each fact once, though every repetition has it.
  EXPECT_EQ(found.differences.size(), 1u);
}

TEST(LeftBehind, OfEagerOnAnotherDeviceNeitherThreadsNorGeneratorsAreAsked) {
  ProcessState there = kState;
  there.generators["cpu"] = "2222";
  there.modes["threads"] = "4";
  const Observation eager = left(kState);
  Observation compiled = left(there);
  JudgeRequest request = between(eager, compiled);
  EXPECT_EQ(judged(request).status, Status::state_diverges);
  request.cross_device = CrossDevice{"cpu", "cpu"};
  EXPECT_EQ(judged(request).status, Status::conform);
  there.modes["grad"] = "false";
  compiled = left(there);
  EXPECT_EQ(judged(request).reason.substr(0, 32), "mode grad: true, compiled false,");
}

TEST(LeftBehind, AGeneratorInAnotherStateIsFound) {
  ProcessState other = kState;
  other.generators["cpu"] = "2222";
  Observation compiled = left(kState);
  compiled.repetitions[1].front().state = other;
  const Observation eager = left(kState);
  const Findings found = judge_under(eager, compiled, "bits");
  EXPECT_EQ(found.status, Status::state_diverges);
  EXPECT_EQ(found.reason,
            "repetition 2: generator cpu: not the state that eager leaves, after repetition 2");
  EXPECT_EQ(fingerprint_of(found), "relu:generator");
  // Whose numbers may be any has a generator of its own.
  EXPECT_EQ(judge_under(eager, compiled, "metadata").status, Status::conform);
  JudgeRequest request;
  request.eager = &eager;
  request.compiled = &compiled;
  EXPECT_EQ(judge(request).status, Status::state_diverges);
  request.own_random = true;
  EXPECT_EQ(judge(request).status, Status::conform);
}

/// With inputs that are written to.
Observation wrote(const ProcessState& state, float w = 1) {
  Observation observation = left(state);
  for (Repetition& repetition : observation.repetitions)
    repetition.front().inputs = {{"w", tensor("float32", {w})}, {"x", tensor("float32", {2})}};
  return observation;
}

TEST(LeftBehind, AWriteThatIsNotCountedIsFoundAndOneThatEagerDoesNotCountIsNone) {
  ProcessState counted = kState, nothing = kState;
  counted.versions = {{"w", "x"}};
  nothing.versions = std::vector<std::string>();
  const Findings found = judge_under(wrote(counted), wrote(nothing), "bits");
  EXPECT_EQ(found.status, Status::state_diverges);
  EXPECT_EQ(found.reason,
            "version: eager counts that w (and 1 more) is written to, compiled does not, after "
            "repetition 1");
  EXPECT_EQ(fingerprint_of(found), "relu:version");
  nothing.versions = {{"x"}};
  EXPECT_THAT(judge_under(wrote(counted), wrote(nothing), "bits").reason, HasSubstr("that w is"));
  EXPECT_EQ(judge_under(wrote(nothing), wrote(counted), "bits").status, Status::conform);
  EXPECT_EQ(judge_under(wrote(counted), wrote(kState), "bits").status, Status::conform);
}

TEST(LeftBehind, AWriteThatIsLostIsNotCountedEitherAndToldOnce) {
  ProcessState counted = kState, nothing = kState;
  counted.versions = {{"w"}};
  nothing.versions = std::vector<std::string>();
  const Findings found = judge_under(wrote(counted), wrote(nothing, 3), "bits");
  EXPECT_EQ(found.status, Status::mutation_diverges);
  EXPECT_EQ(found.differences.size(), 1u);
}

TEST(LeftBehind, MemoryThatThePathAloneKeepsIsFound) {
  ProcessState keeps = kState, nothing = kState;
  keeps.kept = {{"x"}};
  nothing.kept = std::vector<std::string>();
  const Findings found = judge_under(left(nothing), left(keeps), "bits");
  EXPECT_EQ(found.status, Status::state_diverges);
  EXPECT_EQ(found.reason, "memory: compiled keeps that of x, eager does not, after repetition 1");
  EXPECT_EQ(fingerprint_of(found), "relu:memory");
  EXPECT_EQ(judge_under(left(keeps), left(keeps), "bits").status, Status::conform);
  EXPECT_EQ(judge_under(left(keeps), left(nothing), "bits").status, Status::conform);
  EXPECT_EQ(judge_under(left(kState), left(keeps), "bits").status, Status::conform);
  Observation last = left(nothing);  // who holds what it was given last until it is given more
  ASSERT_GT(last.repetitions.size(), 1U);
  last.repetitions.back().back().state = keeps;
  EXPECT_EQ(judge_under(left(nothing), last, "bits").status, Status::conform);
}

TEST(LeftBehind, AnEagerThatDiffersInPythonIsTheHarness) {
  ProcessState other = kState;
  other.modes["grad"] = "false";
  Observation compiled = left(kState);
  compiled.reference = std::make_shared<const Observation>(left(other));
  const Findings found = judge_under(left(kState), compiled, "bits");
  EXPECT_EQ(found.status, Status::harness);
  EXPECT_THAT(found.reason, HasSubstr("mode grad: true, compiled false"));
}

TEST(LeftBehind, AResultThatALaterCallOverwritesIsFound) {
  const Tensor y = tensor("float32", {1, 2, 3}), z = tensor("float32", {4, 5, 6});
  const auto calls = [&] {
    return returned({CallResult{{{"y", y}}, {}, {}}, CallResult{{{"y", z}}, {}, {}}}, 1);
  };
  Observation compiled = calls();
  EXPECT_EQ(judge_under(calls(), compiled, "bits").status, Status::conform);
  compiled.repetitions[0][0].outputs_again = {{"y", z}};
  const Findings found = judge_under(calls(), compiled, "bits");
  EXPECT_EQ(found.status, Status::state_diverges);
  EXPECT_EQ(found.reason, "overwritten: y of call 1 changed while call 2 ran");
  EXPECT_EQ(fingerprint_of(found), "relu:overwritten");
  Observation lets_go = calls();
  lets_go.repetitions[0][0].state.kept = std::vector<std::string>();
  compiled.repetitions[0][0].state.kept = {{"y"}};  // where it is overwritten
  EXPECT_EQ(judge_under(lets_go, compiled, "bits").differences, found.differences);
  compiled.repetitions[0][0].outputs_again = {{"y", ScalarValue{}}};  // its memory is gone
  EXPECT_EQ(judge_under(calls(), compiled, "bits").status, Status::state_diverges);
  compiled.repetitions[0][0].outputs_again = {{"y", y}};  // other bytes than the view has
  EXPECT_EQ(judge_under(calls(), compiled, "bits").status, Status::conform);
  // What eager does as well is the program's.
  compiled.repetitions[0][0].outputs_again = {{"y", z}};
  Observation eager = calls();
  eager.repetitions[0][0].outputs_again = {{"y", z}};
  EXPECT_EQ(judge_under(eager, compiled, "bits").status, Status::conform);
}

// Errors ---------------------------------------------------------------------------------------

Observation failed(const Tensor& x, ProcessState state = kState, std::size_t call = 0) {
  Observation observation = raised("IndexError", "index out of range");
  observation.after_error = AfterError{call, {{"x", x}}, std::move(state)};
  return observation;
}

TEST(LeftBehind, InputsAfterAnErrorAreCompared) {
  const Tensor x = tensor("float32", {1, 2, 3});
  EXPECT_EQ(judge_under(failed(x), failed(x), "bits").status, Status::conform);
  EXPECT_EQ(judge_under(failed(x), raised("IndexError", "out"), "bits").status, Status::conform);
  const Findings found = judge_under(failed(x), failed(tensor("float32", {1, 2, 4})), "bits");
  EXPECT_EQ(found.status, Status::mutation_diverges);
  EXPECT_THAT(found.reason, StartsWith("input x after the error: 1 of 3 elements differ"));
  EXPECT_EQ(fingerprint_of(found), "relu:mutation");
  // What eager left alone must have its bits, whatever the policy.
  const Tensor nudged = tensor("float32", {1, 2, 3.0000002});
  EXPECT_EQ(judge_under(failed(x), failed(nudged), "close").status, Status::conform);
  const Observation eager = failed(x), compiled = failed(nudged);
  const std::vector<NamedValues> before{{{"x", x}}};
  JudgeRequest request;
  request.eager = &eager;
  request.compiled = &compiled;
  request.inputs = &before;
  EXPECT_EQ(judge(request).status, Status::mutation_diverges);
}

TEST(LeftBehind, ModesAfterAnErrorAreCompared) {
  const Tensor x = tensor("float32", {1, 2, 3});
  ProcessState other = kState;
  other.modes["threads"] = "2";
  other.generators["cpu"] = "2222";  // the compiler found it before anything was drawn
  const Findings found = judge_under(failed(x), failed(x, other), "bits");
  EXPECT_EQ(found.status, Status::state_diverges);
  EXPECT_THAT(found.reason, StartsWith("mode threads: 1, compiled 2, after the error"));
  EXPECT_EQ(found.differences.size(), 1u);
  // Of an error that eager does not raise as well.
  Observation spurious = failed(x, other);
  spurious.repetitions = {{}};
  const Findings both = judge_under(left(kState), spurious, "bits");
  EXPECT_EQ(both.status, Status::spurious_error);
  ASSERT_EQ(both.differences.size(), 2u);
  EXPECT_EQ(both.differences[1].status, Status::state_diverges);
}

TEST(LeftBehind, CallsBehindAnErrorAreCompared) {
  const Tensor x = tensor("float32", {1, 2, 3}), y = tensor("float32", {4, 5, 6});
  const auto behind = [&](const std::vector<Tensor>& results) {
    Observation observation = failed(x);
    Repetition& calls = observation.after_error->calls.emplace();
    for (const Tensor& result : results) calls.push_back(CallResult{{{"y", result}}, {}, {}});
    return observation;
  };
  EXPECT_EQ(judge_under(behind({x, y}), behind({x, y}), "bits").status, Status::conform);
  EXPECT_EQ(judge_under(behind({x, y}), failed(x), "bits").status, Status::conform);
  const Findings found = judge_under(behind({x, y}), behind({x, x}), "bits");
  EXPECT_EQ(found.status, Status::value_diverges);
  EXPECT_THAT(found.reason, StartsWith("y after the error: 3 of 3 elements differ"));
  const Findings other = judge_under(behind({x, y}), behind({x}), "bits");
  EXPECT_EQ(other.status, Status::error_diverges);
  EXPECT_THAT(other.reason, StartsWith("call 3 after the error: compiled raises"));
}

TEST(LeftBehind, AnErrorInAnotherCallIsAnotherError) {
  const Tensor x = tensor("float32", {1, 2, 3});
  const Findings found = judge_under(failed(x, kState, 1), failed(x, kState, 0), "bits");
  EXPECT_EQ(found.status, Status::error_diverges);
  EXPECT_THAT(found.reason, StartsWith("eager raises in call 2, compiled in call 1"));
}

// Seeds ----------------------------------------------------------------------------------------

std::vector<double> counting(double from) {
  std::vector<double> numbers;
  for (int i = 0; i < 20; ++i) numbers.push_back(from + i);
  return numbers;
}

/// Three repetitions, the last one with other seeds.
Observation seeded(double first, double other) {
  Observation observation = returned(tensor("float32", counting(first)));
  observation.repetitions.push_back(
      {CallResult{{{"y", tensor("float32", counting(other))}}, {}, {}}});
  return observation;
}

Findings judge_seeds(const Observation& eager, const Observation& compiled,
                     std::string_view policy) {
  JudgeRequest request;
  request.eager = &eager;
  request.compiled = &compiled;
  request.reseeded = 2;
  request.policy_of = [&](std::string_view) { return *parse_policy(policy); };
  return judged(request);
}

TEST(LeftBehind, NumbersThatAreDrawnOnceAreFound) {
  const Findings same = judge_seeds(seeded(1, 100), seeded(1, 100), "bits");
  EXPECT_EQ(same.status, Status::conform);
  EXPECT_FALSE(same.unstable);  // other numbers for other seeds are no disagreement
  const Findings folded = judge_seeds(seeded(1, 100), seeded(1, 1), "bits");
  EXPECT_EQ(folded.status, Status::value_diverges);
  EXPECT_THAT(folded.reason,
              StartsWith("repetition 3: y: with another seed 20 of 20 elements differ"));
  EXPECT_FALSE(folded.unstable);
  EXPECT_EQ(fingerprint_of(folded), "relu:seed");
  // What is wrong with the first seed is named by that.
  EXPECT_THAT(judge_seeds(seeded(1, 100), seeded(2, 2), "bits").reason, StartsWith("y: 20 of 20"));
}

TEST(LeftBehind, NumbersOfItsOwnHaveToChangeAsWell) {
  EXPECT_EQ(judge_seeds(seeded(1, 100), seeded(7, 70), "metadata").status, Status::conform);
  const Findings folded = judge_seeds(seeded(1, 100), seeded(7, 7), "metadata");
  EXPECT_EQ(folded.status, Status::value_diverges);
  EXPECT_THAT(folded.reason, HasSubstr("with another seed 20 of eager's elements change, and none "
                                       "of compiled's"));
  EXPECT_EQ(fingerprint_of(folded), "relu:seed");
  // Too few to tell, or nothing that hangs on the seed.
  EXPECT_EQ(judge_seeds(seeded(1, 1), seeded(7, 7), "metadata").status, Status::conform);
}

TEST(LeftBehind, ANoiseWithOneSeedIsStillFound) {
  Observation noisy = seeded(1, 100);
  noisy.repetitions[1] = {CallResult{{{"y", tensor("float32", counting(2))}}, {}, {}}};
  EXPECT_EQ(judge_seeds(noisy, seeded(1, 100), "bits").status, Status::inconclusive);
  const Findings unstable = judge_seeds(seeded(1, 100), noisy, "bits");
  EXPECT_EQ(unstable.status, Status::value_diverges);
  EXPECT_TRUE(unstable.unstable);
}

}  // namespace
}  // namespace lockstep
