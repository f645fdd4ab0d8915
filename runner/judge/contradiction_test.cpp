#include "verdict/contradiction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "judge/fixtures.h"

// Verdicts that the judge gave, and what somebody made of them: every change of what decides must
// be found.

namespace lockstep {
namespace {

using namespace fixtures;
using testing::HasSubstr;
using Rewrite = std::function<void(Findings&)>;

Findings with_gold(std::vector<double> e, std::vector<double> c, std::vector<double> truth) {
  const Observation eager = returned(tensor("float32", e));
  const Observation compiled = returned(tensor("float32", c));
  const Observation gold = returned(tensor("float64", truth));
  JudgeRequest request;
  request.eager = &eager;
  request.compiled = &compiled;
  request.golds[Gold::fp64] = &gold;
  return judged(request);
}

Findings of_values(std::vector<double> e, std::vector<double> c, std::string_view policy) {
  return judge_under(returned(tensor("float32", e)), returned(tensor("float32", c)), policy);
}

/// One of every kind that the judge gives of results and errors.
std::vector<Findings> samples() {
  const Tensor y = tensor("float32", {1, 2, 3, 4});
  Tensor transposed = reshaped(tensor("float32", {1, 2, 3, 5}), {2, 2});
  transposed.view.strides = {1, 2};
  const Observation square = returned(reshaped(y, {2, 2}));
  Observation unproven = returned(y);
  unproven.proof = nullptr;
  return {of_values({1, 2}, {1, 2}, "bits"),
          of_values({1, 2}, {1, 3}, "bits"),
          of_values({1, NAN}, {1, 3}, "any_of(close, ulp(4))"),
          of_values({1, 2}, {1, 2 + 0x1p-22}, "all_of(ulp(4), close)"),
          of_values({0, 2}, {-0.0, 2}, "equal"),
          with_gold({1, 1.001}, {1, 0.9995}, {1, 1}),
          with_gold({1, 1.001}, {1, 0.9}, {1, 1}),
          judge_under(square, returned(transposed), "close"),
          judge_under(returned(y), unproven, "bits"),
          judge_under(two_runs(y, tensor("float32", {1, 2, 3, 5})), returned(y), "bits"),
          judge_under(returned(y), returned(tensor("float64", {1, 2, 3, 4})), "bits"),
          judge_under(returned(y), raised("ValueError", "no"), "bits"),
          judge_under(raised("ValueError", "no"), returned(y), "bits"),
          judge_under(raised("ValueError", "no"), raised("ValueError", "no"), "bits"),
          judge_under(returned(y), raised("X", "no", "refused"), "bits"),
          judge_under(returned(y), raised("X", "no", "internal"), "bits"),
          judge_under(returned(y), ended(Outcome::crashed, 11), "bits"),
          judge_under(returned(y), ended(Outcome::timed_out), "bits")};
}

TEST(Contradiction, WhatTheJudgeSaysIsOfAPiece) {
  for (const Findings& found : samples()) {
    EXPECT_EQ(contradiction(found), "") << to_json(as_verdict(found)).dump(1);
    const auto read = verdict_from_json(to_json(as_verdict(found)));
    ASSERT_TRUE(read);
    EXPECT_EQ(contradiction(*read), "") << "numbers survive the log";
  }
}

TEST(Contradiction, EveryOtherStatusIsFound) {
  for (const Findings& found : samples()) {
    for (const StatusInfo& status : all_statuses()) {
      if (status.status == found.status) continue;
      // What is unsupported is not judged, and passes nowhere for green.
      const bool judged = !found.outputs.empty() || !found.differences.empty();
      if (status.rank == Rank::support && !judged) continue;
      Findings rewritten = found;
      rewritten.status = status.status;
      EXPECT_NE(contradiction(rewritten), "") << info(found.status).name << " as " << status.name;
    }
  }
}

TEST(Contradiction, EveryOtherGradeIsFound) {
  for (const Findings& found : samples()) {
    if (!found.grade) continue;
    for (const std::string& name : grade_names()) {
      if (find_grade(name) == found.grade) continue;
      Findings rewritten = found;
      rewritten.grade = find_grade(name);
      EXPECT_NE(contradiction(rewritten), "") << name;
      // The same in both places.
      for (OutputComparison& output : rewritten.outputs) output.grade = rewritten.grade;
      EXPECT_NE(contradiction(rewritten), "") << name << " in its outputs, too";
    }
  }
}

/// Makes a verdict green as thoroughly as a text editor does.
TEST(Contradiction, AFailureThatIsMadeGreenIsFound) {
  const std::vector<std::pair<const char*, Rewrite>> more = {
      {"nothing more", [](Findings&) {}},
      {"without a reason", [](Findings& found) { found.reason.clear(); }},
      {"without differences", [](Findings& found) { found.differences.clear(); }},
      {"without outputs", [](Findings& found) { found.outputs.clear(); }},
      {"outputs conform",
       [](Findings& found) {
         for (OutputComparison& output : found.outputs) output.status = Status::conform;
       }},
      {"nothing and no outputs",
       [](Findings& found) {
         found.differences.clear();
         found.outputs.clear();
         found.grade.reset();
       }},
      {"outputs conform, no differences",
       [](Findings& found) {
         for (OutputComparison& output : found.outputs) output.status = Status::conform;
         found.differences.clear();
       }},
      {"and no checks",
       [](Findings& found) {
         for (OutputComparison& output : found.outputs) {
           output.status = Status::conform;
           output.checks.clear();
         }
         found.differences.clear();
       }},
      {"and checks that hold", [](Findings& found) {
         for (OutputComparison& output : found.outputs) {
           output.status = Status::conform;
           for (Measurement& leaf : output.checks) leaf.ok = true;
         }
         found.differences.clear();
       }}};
  for (const double other : {3.0, static_cast<double>(NAN)}) {
    const Findings found = of_values({1, 2}, {1, other}, "any_of(close, ulp(4))");
    for (const auto& [what, change] : more) {
      Findings rewritten = found;
      rewritten.status = Status::conform;
      change(rewritten);
      EXPECT_NE(contradiction(rewritten), "") << what;
    }
  }
}

TEST(Contradiction, SaysWhat) {
  const Findings good = of_values({1, 2, 3}, {1, 2, 3.0000002}, "any_of(bits, ulp(4))");
  ASSERT_EQ(good.status, Status::conform);
  ASSERT_EQ(good.outputs[0].checks.size(), 2u);
  const auto says = [&](const Rewrite& change) {
    Findings rewritten = good;
    change(rewritten);
    return contradiction(rewritten);
  };
  const auto output = [&](const std::function<void(OutputComparison&)>& change) {
    return says([&](Findings& found) { change(found.outputs[0]); });
  };
  EXPECT_EQ(output([](auto& y) { y.differing = 4; }), "y: 4 of 3 elements differ");
  EXPECT_EQ(output([](auto& y) { y.differing = -1; }), "y: -1 of 3 elements differ");
  EXPECT_EQ(output([](auto& y) { y.classes.nan = 1; }),
            "y: its classes (1 NaN, 1 last bits) do not add up to 1");
  EXPECT_EQ(output([](auto& y) { y.checks.clear(); }),
            "y: 1 elements differ, and no check is recorded");
  EXPECT_EQ(output([](auto& y) { y.checks.pop_back(); }), "y: the check ulp(4) is missing");
  EXPECT_EQ(output([](auto& y) { y.checks.erase(y.checks.begin()); }),
            "y: the check ulp(4) is where bits is due");
  EXPECT_EQ(output([](auto& y) { y.checks.push_back(y.checks[0]); }),
            "y: the check bits is one that any_of(bits, ulp(4)) does not ask");
  EXPECT_EQ(output([](auto& y) { y.checks[0].ok = true; }),
            "y: check bits (differing 1, limit 0) is said to hold");
  EXPECT_EQ(output([](auto& y) { y.checks[0].limit = 1; }),
            "y: check bits (differing 1, limit 1) is said to fail");
  EXPECT_EQ(output([](auto& y) {
              y.checks[0].limit = 1;
              y.checks[0].ok = true;
              y.checks.pop_back();
            }),
            "y: check bits (differing 1, limit 1) has no limit but 0");
  EXPECT_EQ(output([](auto& y) {
              y.checks[0].measured = 0;
              y.checks[0].ok = true;
              y.checks.pop_back();
            }),
            "y: check bits (differing 0, limit 0) counts otherwise than the output, 1");
  EXPECT_EQ(output([](auto& y) { y.checks[1].limit = 9; }),
            "y: check ulp(4) (ulp 1, limit 9) has another limit than its policy");
  EXPECT_THAT(output([](auto& y) { y.policy = "ulp(5)"; }), HasSubstr("is where ulp(5) is due"));
  EXPECT_THAT(output([](auto& y) { y.policy = "ulp"; }), HasSubstr("its policy: "));
  EXPECT_THAT(output([](auto& y) { y.grading.clear(); }),
              HasSubstr("its grade is ulp4, by its grading none"));
  EXPECT_EQ(says([](Findings& found) { found.weak = "y: no"; }),
            "it is weak, but no output that conforms is");
  EXPECT_EQ(says([](Findings& found) { found.outputs.clear(); }),
            "it conforms, but nothing was compared");
  EXPECT_EQ(says([](Findings& found) { found.grade.reset(); }),
            "its grade is none at all, by its outputs ulp4");
}

TEST(Contradiction, AStandingRestsOnAnExpectation) {
  Verdict verdict = as_verdict(of_values({1, 2, 3}, {1, 2, 3}, "bits"));
  EXPECT_EQ(contradiction(verdict), "");
  verdict.account.standing = Standing::known;
  EXPECT_EQ(contradiction(verdict), "it is known, but no expectation is recorded");
  verdict.account.expectation.emplace().status = Status::crash;
  EXPECT_EQ(contradiction(verdict), "it is known, its status conform, and crash was expected");
  verdict.account.standing = Standing::fixed;
  EXPECT_EQ(contradiction(verdict), "");
}

TEST(Contradiction, NothingThatWasComparedConforms) {
  Findings found;
  EXPECT_EQ(contradiction(found), "it conforms, but nothing was compared");
  found.compiled_error.emplace();
  EXPECT_EQ(contradiction(found), "it conforms, but one side raised");
  found.eager_error.emplace();
  EXPECT_EQ(contradiction(found), "");
  found.status = Status::unsupported;
  EXPECT_EQ(contradiction(found), "") << "nothing was judged";
  found.status = Status::crash;
  EXPECT_NE(contradiction(found), "") << "two errors were judged";
}

TEST(Contradiction, ADifferenceIsAboutAnOutput) {
  const Tensor y = tensor("float32", {1, 2}), z = tensor("float32", {1, 3});
  const Tensor other = tensor("float32", {1, 2}), third = tensor("float32", {1, 3});
  Findings found = judge_under(returned({CallResult{{{"a", y}, {"b", other}}, {}, {}}}),
                               returned({CallResult{{{"a", y}, {"b", third}}, {}, {}}}), "bits");
  found.outputs.pop_back();
  found.grade = Grade::bits;
  EXPECT_EQ(contradiction(found), "a difference is about b, which is not among the outputs");
}

// Whatever a policy measures, the judge and the reader of its log come to the same.
TEST(Contradiction, EveryPolicyIsToldAgain) {
  const std::vector<std::vector<double>> values = {
      {1, 2, 3, 4},    {1, 2, 3, 4.000001}, {1, 2, 3, 5},        {0, 2, 3, 4},
      {-0.0, 2, 3, 4}, {1, 2, 3, NAN},      {1, INFINITY, 3, 4}, {1e-30, 2, 3, 4}};
  const Observation gold = returned(tensor("float64", {1, 2, 3, 4.0000004}));
  std::size_t held = 0, failed = 0;
  for (const PolicyInfo& policy : all_policies()) {
    for (const std::string_view text : policy.examples) {
      if (text.empty()) continue;
      for (const char* dtype : {"float32", "float16", "int64", "complex64"}) {
        for (const std::vector<double>& e : values) {
          for (const std::vector<double>& c : values) {
            const bool whole = std::string_view(dtype) == "int64";
            const auto finite = [](double x) { return std::isfinite(x); };
            if (whole && (!std::ranges::all_of(e, finite) || !std::ranges::all_of(c, finite))) {
              continue;
            }
            const Observation eager = returned(tensor(dtype, e));
            const Observation compiled = returned(tensor(dtype, c));
            JudgeRequest request;
            request.eager = &eager;
            request.compiled = &compiled;
            if (std::string_view(dtype) != "complex64")
              request.golds[Gold::fp64] = request.golds[Gold::stepwise] = &gold;
            request.policy_of = [&](std::string_view) { return *parse_policy(text); };
            const Findings found = judged(request);
            ++(found.status == Status::conform ? held : failed);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_GT(held, 500u);
  EXPECT_GT(failed, 500u);
}

}  // namespace
}  // namespace lockstep
