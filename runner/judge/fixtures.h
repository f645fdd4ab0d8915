#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/judge.h"
#include "judge/numerics/fixtures.h"
#include "verdict/contradiction.h"

// For tests only: observations made of tensors that own their bytes.

namespace lockstep::fixtures {

inline Observation returned(std::vector<CallResult> calls, int repetitions = 2) {
  Observation observation;
  observation.outcome = Outcome::returned;
  for (int i = 0; i < repetitions; ++i) observation.repetitions.push_back(calls);
  observation.stage = "run";
  observation.proof = {{"graphs", 1}};
  return observation;
}

inline Observation returned(const DataValue& y) {
  return returned({CallResult{{{"y", y}}, {}, {}}});
}

/// What differs from one execution to the next.
inline Observation two_runs(const DataValue& first, const DataValue& second) {
  Observation observation = returned(first);
  observation.repetitions[1][0].outputs[0].second = second;
  return observation;
}

inline Observation raised(std::string class_name, std::string message,
                          std::string_view kind = "error") {
  Observation observation;
  observation.outcome = Outcome::raised;
  observation.error =
      RaisedError{"run", std::move(class_name), std::move(message), {}, *find_error_kind(kind)};
  return observation;
}

inline Observation ended(Outcome outcome, int signal = 0) {
  Observation observation;
  observation.outcome = outcome;
  observation.signal = signal;
  return observation;
}

/// A verdict that has only findings.
inline Verdict as_verdict(Findings found) { return {{}, std::move(found), {}, {}}; }

/// Judges, and checks that the findings do not contradict themselves.
inline Findings judged(const JudgeRequest& request) {
  Findings found = judge(request);
  EXPECT_EQ(contradiction(found), "") << to_json(as_verdict(found)).dump(1);
  return found;
}

/// A request about two observations, which outlive it.
inline JudgeRequest between(const Observation& eager, const Observation& compiled) {
  JudgeRequest request;
  request.eager = &eager;
  request.compiled = &compiled;
  return request;
}

/// Judges two observations under one policy for everything.
inline Findings judge_under(const Observation& eager, const Observation& compiled,
                            std::string_view policy) {
  JudgeRequest request = between(eager, compiled);
  request.policy_of = [&](std::string_view) { return *parse_policy(policy); };
  return judged(request);
}

}  // namespace lockstep::fixtures
