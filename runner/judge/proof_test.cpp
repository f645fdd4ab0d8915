#include "judge/proof.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "judge/fixtures.h"
#include "judge/judge.h"

namespace lockstep {
namespace {

using namespace fixtures;
const Json kEager = {{"aten::mm", 1}, {"aten::relu", 2}, {"aten::sum", 1}};

Json proof(Json foreign, Json traces = {{"eager", kEager}}) {
  return {{"graphs", 1},
          {"execution", "observed"},
          {"executed", foreign},
          {"foreign", foreign},
          {"traces", std::move(traces)}};
}

TEST(Proof, WhatIsAllOfEagerFellBack) {
  EXPECT_EQ(executed_by(proof(kEager), true).foreign_fraction, 1);
  EXPECT_EQ(executed_by(proof(kEager), true).fell_back,
            "others executed all of it, as eager does: aten::mm, aten::relu (2), aten::sum");
  // More than eager does is all the same.
  Json more = kEager;
  more["aten::add"] = 1;
  more["aten::exp"] = 1;
  EXPECT_EQ(executed_by(proof(more), true).fell_back,
            "others executed all of it, as eager does: aten::add, aten::exp, aten::mm, aten::relu "
            "(2) and 1 more");
}

TEST(Proof, WhatIsPartOfEagerIsAShare) {
  const auto share = [](Json foreign) {
    const ExecutedBy execution = executed_by(proof(std::move(foreign)), true);
    EXPECT_EQ(execution.fell_back, "");
    return execution.foreign_fraction;
  };
  EXPECT_EQ(share(Json::object()), 0);
  EXPECT_EQ(share({{"aten::relu", 1}}), 0.25);
  EXPECT_EQ(share({{"aten::mm", 1}, {"aten::relu", 2}}), 0.75);
  // Other operators than eager's: nothing of it is covered, and it is not nothing.
  EXPECT_EQ(share({{"aten::exp", 4}}), 0.5);
  EXPECT_LT(share({{"aten::exp", 4000}}), 1);
}

TEST(Proof, AnyTraceThatIsCoveredDecides) {
  const Json decomposed = {{"aten::exp", 1}, {"aten::div", 1}};
  EXPECT_NE(executed_by(proof(decomposed, {{"eager", {{"aten::softmax", 1}}},
                                           {"aot_eager", {{"aten::_softmax", 1}}},
                                           {"aot_eager_decomp", decomposed}}),
                        true)
                .fell_back.find("as aot_eager_decomp does"),
            std::string::npos);
}

TEST(Proof, WhereEagerDoesNothingThereIsNothingToExecute) {
  const ExecutedBy execution = executed_by(
      proof({{"aten::add", 1}}, {{"eager", Json::object()}, {"aot_eager", {{"aten::add", 1}}}}),
      true);
  EXPECT_TRUE(execution.idle);
  EXPECT_EQ(execution.foreign_fraction, 0);
  EXPECT_EQ(execution.fell_back, "");
  EXPECT_FALSE(executed_by(proof({}, Json::object()), true).idle);  // not known is not nothing
}

TEST(Proof, WhatPutsOutWhoLooksIsNotItsOwn) {
  const auto because = [](const char* key, Json value) {
    Json made = proof(Json::object());
    made[key] = std::move(value);
    EXPECT_EQ(executed_by(made, true).foreign_fraction, 1) << key;
    return executed_by(made, true).fell_back;
  };
  EXPECT_EQ(because("changed", {"witness.Witness.words", "other"}),
            "nobody can see who executed it: it put something else in the place of "
            "witness.Witness.words");
}

TEST(Proof, WhatItMayCallIsAShareOfEager) {
  const auto share = [](Json permitted) {
    Json made = proof(Json::object());
    made["permitted"] = std::move(permitted);
    return executed_by(made, true).permitted_fraction;
  };
  EXPECT_EQ(share(Json::object()), 0);
  EXPECT_EQ(share({{"aten::relu", 1}}), 0.25);
  EXPECT_EQ(share(kEager), 1);
}

TEST(Proof, SaysWhetherTheBackendWasAsked) {
  EXPECT_TRUE(asked_backend(nullptr));
  EXPECT_TRUE(asked_backend({{"backend", {{"called", 1}, {"raised", 0}}}}));
  EXPECT_FALSE(asked_backend({{"backend", {{"called", 0}, {"raised", 0}}}}));
  EXPECT_TRUE(backend_raised({{"backend", {{"called", 1}, {"raised", 1}}}}));
  EXPECT_FALSE(backend_raised({{"backend", {{"called", 1}, {"raised", 0}}}}));
  EXPECT_FALSE(backend_raised(nullptr));
  EXPECT_EQ(raised_without_backend({{"control", "RuntimeError"}}), "RuntimeError");
  EXPECT_EQ(raised_without_backend({{"control", nullptr}}), "");
  EXPECT_TRUE(knew_inputs({{"inputs_known", true}}));
  EXPECT_EQ(unsaid_execution({{"unsaid", "a process"}}), "a process");
}

TEST(Proof, OnlyLockstepsOwnWorkersObserve) {
  EXPECT_EQ(executed_by(proof(Json::object()), true).how, Witness::observed);
  EXPECT_EQ(executed_by(proof(Json::object()), false).how, Witness::stated);
  EXPECT_EQ(executed_by({{"execution", "stated"}}, true).how, Witness::stated);
  EXPECT_EQ(executed_by({{"graphs", 1}}, true).how, std::nullopt);
  EXPECT_EQ(executed_by(nullptr, true).how, std::nullopt);
}

// What conforms because others executed it; what differs, differs.
TEST(Proof, OnlyWhatConformsFellBack) {
  Observation right = returned(tensor("float32", {1, 2}));
  right.proof = proof(kEager);
  const Findings found = judge_under(right, right, "bits");
  EXPECT_EQ(found.status, Status::fell_back);
  EXPECT_EQ(found.execution, Witness::observed);
  EXPECT_EQ(found.foreign_fraction, 1);
  EXPECT_FALSE(found.through_aot);

  Observation wrong = returned(tensor("float32", {1, 3}));
  wrong.proof = proof(kEager);
  wrong.proof["through_aot"] = true;
  EXPECT_EQ(judge_under(right, wrong, "bits").status, Status::value_diverges);
  EXPECT_TRUE(judge_under(right, wrong, "bits").through_aot);

  // Also of what raised, where a worker can tell.
  Observation raising = raised("IndexError", "out of range");
  raising.proof = proof(kEager);
  EXPECT_EQ(judge_under(raised("IndexError", "out of range"), raising, "bits").status,
            Status::fell_back);
  raising.proof = proof(Json::object());
  EXPECT_EQ(judge_under(raised("IndexError", "out of range"), raising, "bits").status,
            Status::conform);

  Observation idle = right;
  idle.proof = proof(Json::object(), {{"eager", Json::object()}});
  EXPECT_EQ(judge_under(right, idle, "bits").status, Status::conform);
  EXPECT_TRUE(judge_under(right, idle, "bits").vacuous);
}

}  // namespace
}  // namespace lockstep
