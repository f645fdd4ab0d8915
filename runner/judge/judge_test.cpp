#include "judge/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;
using testing::HasSubstr;
using testing::StartsWith;

// A judge that never fails is worthless: every check here is shown to pass, and to fail when a
// saboteur does what it is for.

Observation with(const Observation& observation, nlohmann::ordered_json proof) {
  Observation changed = observation;
  changed.proof = std::move(proof);
  return changed;
}

TEST(Judge, SaysConformOfEqualResults) {
  const Tensor y = tensor("float32", {1, 2, 3});
  const Findings found = judge_under(returned(y), returned(y), "bits");
  EXPECT_EQ(found.status, Status::conform);
  EXPECT_EQ(found.grade, Grade::bits);
  EXPECT_EQ(found.reason, "");
  EXPECT_EQ(found.stage, "run");
  EXPECT_EQ(found.proof["graphs"], 1);
  EXPECT_FALSE(found.vacuous);
  EXPECT_FALSE(found.unstable);
}

/// Where nothing is returned, what is left in the inputs is all that there is.
TEST(Judge, ComparesTheInputsOfWhatReturnsNothing) {
  const Tensor x = tensor("float32", {1, 2}), other = tensor("float32", {1, 3});
  const Observation eager = returned({CallResult{{}, {{"x", x}}, {}}});
  const Findings same = judge_under(eager, eager, "bits");
  EXPECT_EQ(same.status, Status::conform);
  ASSERT_EQ(same.outputs.size(), 1U);
  EXPECT_EQ(same.outputs[0].name, "input x");
  EXPECT_FALSE(same.vacuous);
  JudgeRequest untouched = between(eager, eager);
  const std::vector<NamedValues> given = {{{"x", x}}};
  untouched.inputs = &given;
  EXPECT_TRUE(judged(untouched).vacuous) << "it wrote nothing";
  const Observation wrong = returned({CallResult{{}, {{"x", other}}, {}}});
  EXPECT_EQ(judge_under(eager, wrong, "bits").status, Status::mutation_diverges);
}

/// Of each side's own: what was handed over with an error keeps it, and nobody is accused twice.
TEST(Judge, AnInputThatIsHandedOverIsHeldAgainstWhatItWas) {
  const Tensor start = tensor("float32", {1}), made = tensor("float32", {1}),
               off = tensor("float32", {1 + 0x1p-23}), carried = tensor("float32", {1}),
               carried_off = tensor("float32", {1 + 0x1p-23}), changed = tensor("float32", {5});
  const auto side = [&](const Tensor& made_of_it, const Tensor& left) {
    return returned({CallResult{{{"new", made_of_it}}, {{"w", start}}, {}},
                     CallResult{{{"new", made_of_it}}, {{"w", left}}, {}}});
  };
  const std::vector<NamedValues> given = {{{"w", start}}, {{"w", start}}};
  const std::vector<std::pair<std::string, std::string>> carry = {{"w", "new"}};
  const auto status = [&](const Observation& eager, const Observation& compiled) {
    JudgeRequest request = between(eager, compiled);
    request.contract = Contract::values;
    request.inputs = &given;
    request.carry = &carry;
    return judge(request).status;
  };
  const Observation eager = side(made, carried);
  Observation compiled = side(off, carried_off);
  // Eager leaves in w, in both calls, what the case gave it.
  EXPECT_EQ(status(eager, compiled), Status::conform);
  JudgeRequest without = between(compiled, compiled);
  without.inputs = &given;
  without.eager = &eager;
  EXPECT_EQ(judge(without).status, Status::mutation_diverges) << "were it not handed over";
  for (Repetition& each : compiled.repetitions) each[1].inputs = {{"w", changed}};
  EXPECT_EQ(status(eager, compiled), Status::mutation_diverges);
}

TEST(Judge, SaysHowFarApart) {
  const Tensor e = tensor("float32", {1, 2, 0.14282227});
  const Tensor c = tensor("float32", {1, 2, 0.14285715});
  const Findings found = judge_under(returned(e), returned(c), "bits");
  EXPECT_EQ(found.status, Status::value_diverges);
  EXPECT_EQ(found.reason,
            "y: 1 of 3 elements differ, greatest |Δ| 3.49e-05 at [2]: eager 0.14282227, compiled "
            "0.14285715 (policy bits)");
  ASSERT_EQ(found.outputs.size(), 1u);
  EXPECT_EQ(found.outputs[0].type, "float32[3]");
  EXPECT_EQ(found.outputs[0].worst, std::vector<std::int64_t>{2});
  EXPECT_EQ(found.outputs[0].differing, 1);
  EXPECT_EQ(found.grade, Grade::same1e3);
}

TEST(Judge, ContractDecidesWhereTheCaseSaysNothing) {
  const Tensor e = tensor("float32", {1.0, 1.0});
  const Tensor c = tensor("float32", {1.0 + 0x1p-23, 1.0});
  const Observation eager = returned(e), compiled = returned(c);
  JudgeRequest request = between(eager, compiled);
  request.contract = Contract::values;
  EXPECT_EQ(judge(request).status, Status::conform);
  EXPECT_EQ(judge(request).outputs[0].policy, "any_of(close, no_worse(1))");
  request.contract = Contract::bits;
  EXPECT_EQ(judge(request).status, Status::value_diverges);
}

TEST(Judge, MasksComeBeforeValues) {
  const Tensor e = tensor("float32", {1, NAN, INFINITY});
  EXPECT_EQ(
      judge_under(returned(e), returned(tensor("float32", {1, NAN, INFINITY})), "close").status,
      Status::conform);
  for (const std::vector<double>& sabotaged : {std::vector<double>{1, 2, INFINITY},
                                               {1, NAN, -INFINITY},
                                               {1, NAN, 3},
                                               {NAN, NAN, INFINITY}}) {
    const Findings found =
        judge_under(returned(e), returned(tensor("float32", sabotaged)), "close");
    EXPECT_EQ(found.status, Status::nonfinite_diverges);
    EXPECT_THAT(found.reason, HasSubstr("NaN or infinity differs in 1 of 3 elements, first at ["));
  }
}

TEST(Judge, MetadataComesBeforeMasks) {
  const Tensor e = tensor("float32", {1, NAN});
  Tensor c = tensor("float32", {1, 2});
  c.view.requires_grad = true;
  const Findings found = judge_under(returned(e), returned(c), "bits");
  EXPECT_EQ(found.status, Status::metadata_diverges);
  EXPECT_EQ(found.reason,
            "y: requires_grad false, compiled true (and 1 more: y non-finite diverges)");
}

TEST(Judge, TheWorstOutputDecides) {
  const Tensor y = tensor("float32", {1, 2});
  const Tensor z = tensor("float32", {1, NAN});
  const Tensor other = tensor("float32", {1, 3});
  const Tensor third = tensor("float32", {1, 3}), last = tensor("float32", {1, 2});
  const Findings found = judge_under(
      returned({CallResult{{{"a", y}, {"b", z}, {"c", last}}, {}, {}}}),
      returned({CallResult{{{"a", other}, {"b", third}, {"c", last}}, {}, {}}}), "bits");
  EXPECT_EQ(found.status, Status::nonfinite_diverges);
  EXPECT_THAT(found.reason, StartsWith("b: "));
  EXPECT_THAT(found.reason, HasSubstr("(and 1 more: a value diverges)"));
  EXPECT_EQ(found.outputs[0].status, Status::value_diverges);
  EXPECT_EQ(found.outputs[2].status, Status::conform);
}

TEST(Judge, SeveralCallsAreNamed) {
  const Tensor y = tensor("float32", {1, 2});
  const Tensor other = tensor("float32", {1, 3});
  const CallResult good{{{"y", y}}, {}, {}}, bad{{{"y", other}}, {}, {}};
  const Findings found = judge_under(returned({good, good}), returned({good, bad}), "bits");
  EXPECT_THAT(found.reason, StartsWith("y, call 2: 1 of 2 elements differ"));
  EXPECT_EQ(judge_under(returned({good, good}), returned({good}), "bits").status,
            Status::worker_lost);
}

TEST(Judge, MissingOutput) {
  const Tensor y = tensor("float32", {1, 2});
  const Findings found =
      judge_under(returned(y), returned({CallResult{{{"q", y}}, {}, {}}}), "bits");
  EXPECT_EQ(found.status, Status::metadata_diverges);
  EXPECT_EQ(found.reason, "y: float32[2], compiled nothing");
}

TEST(Judge, MutatedInputs) {
  const Tensor y = tensor("float32", {1});
  const Tensor x = tensor("float32", {1, 2});
  const Tensor changed = tensor("float32", {1, 2.000001});
  const Observation eager = returned({CallResult{{{"y", y}}, {{"x", x}}, {}}});
  const Observation compiled = returned({CallResult{{{"y", y}}, {{"x", changed}}, {}}});
  EXPECT_EQ(judge_under(eager, eager, "bits").outputs.size(),
            2u);  // the case has a policy for inputs
  const Findings found = judge_under(eager, compiled, "bits");
  EXPECT_EQ(found.status, Status::mutation_diverges);
  EXPECT_THAT(found.reason, StartsWith("input x: 1 of 2 elements differ"));

  // What eager did not touch must not be touched, not even within a tolerance.
  JudgeRequest request = between(eager, compiled);
  EXPECT_EQ(judge(request).status, Status::conform);
  const std::vector<NamedValues> before = {{{"x", x}}};
  request.inputs = &before;
  EXPECT_EQ(judge(request).status, Status::mutation_diverges);
  request.compiled = &eager;
  EXPECT_EQ(judge(request).status, Status::conform);
  EXPECT_EQ(judge(request).outputs.size(), 1u);  // an untouched input is no news
}

TEST(Judge, Gradients) {
  const Tensor y = tensor("float32", {1});
  const Tensor g = tensor("float32", {2});
  const Observation eager = returned({CallResult{{{"y", y}}, {}, {{"x", g}}}});
  const Observation none = returned({CallResult{{{"y", y}}, {}, {{"x", ScalarValue()}}}});
  EXPECT_EQ(judge_under(eager, eager, "bits").status, Status::conform);
  const Findings found = judge_under(eager, none, "bits");
  EXPECT_EQ(found.status, Status::metadata_diverges);
  EXPECT_EQ(found.reason, "grad x: float32[1], compiled None");
}

TEST(Judge, Aliases) {
  const Tensor x = tensor("float32", {1, 2});
  const Tensor copy = tensor("float32", {1, 2});
  const Observation alias = returned({CallResult{{{"y", x}}, {{"x", x}}, {}}});
  const Observation fresh = returned({CallResult{{{"y", copy}}, {{"x", x}}, {}}});
  EXPECT_EQ(judge_under(alias, alias, "bits").status, Status::conform);
  EXPECT_EQ(judge_under(alias, fresh, "bits").reason,
            "aliases: y shares memory with input x, compiled does not");
  EXPECT_EQ(judge_under(fresh, alias, "bits").status, Status::aliasing_diverges);
}

TEST(Judge, NumbersAndNone) {
  const auto scalar = [](auto value) { return returned(DataValue(ScalarValue(value))); };
  EXPECT_EQ(judge_under(scalar(2.0), scalar(2.0), "bits").status, Status::conform);
  EXPECT_EQ(judge_under(scalar(2.0), scalar(2.5), "bits").status, Status::value_diverges);
  EXPECT_EQ(judge_under(scalar(2.0), scalar(2.0 + 1e-9), "close").status, Status::conform);
  EXPECT_EQ(judge_under(scalar(true), scalar(false), "exact").status, Status::value_diverges);
  EXPECT_EQ(judge_under(scalar(std::int64_t{2}), scalar(2.0), "bits").reason,
            "y: int 2, compiled float 2");
  EXPECT_EQ(judge_under(scalar(std::monostate()), scalar(std::monostate()), "bits").status,
            Status::conform);
  EXPECT_EQ(judge_under(scalar(std::string("a")), scalar(std::string("b")), "bits").status,
            Status::value_diverges);
  EXPECT_EQ(
      judge_under(scalar(std::complex<double>(1, 2)), scalar(std::complex<double>(1, -2)), "close")
          .status,
      Status::value_diverges);
}

TEST(Judge, MetadataPolicyReadsNoValues) {
  const Tensor e = tensor("float32", {1, 2}), c = tensor("float32", {3, NAN});
  const Findings found = judge_under(two_runs(e, c), returned(c), "metadata");
  EXPECT_EQ(found.status, Status::conform);
  EXPECT_FALSE(found.grade);
  EXPECT_EQ(judge_under(returned(e), returned(tensor("float32", {1, 2, 3})), "metadata").status,
            Status::metadata_diverges);
}

TEST(Judge, ProofOfCompilation) {
  const Tensor y = tensor("float32", {1, 2});
  const Observation ran = returned(y);
  const auto status = [&](nlohmann::ordered_json proof) {
    return judge_under(ran, with(ran, std::move(proof)), "bits").status;
  };
  EXPECT_EQ(status({{"graphs", 1}}), Status::conform);
  EXPECT_EQ(status({{"graphs", 0}}), Status::not_compiled);
  EXPECT_EQ(status(nullptr), Status::not_compiled);
  EXPECT_EQ(status({{"graphs", "many"}}), Status::not_compiled);
  EXPECT_EQ(status({{"graphs", 3}, {"recompile_limit", true}}), Status::not_compiled);
  EXPECT_EQ(status({{"graphs", 0}, {"operators", 0}}), Status::not_compiled);
  JudgeRequest request;
  const Observation plain = with(ran, nullptr);
  request.eager = request.compiled = &plain;
  request.compiles = false;
  EXPECT_EQ(judge(request).status, Status::conform);
}

// Nothing to compile is no failure; but who did not look found nothing either.
TEST(Judge, NothingToCompileIsVacuous) {
  const Observation ran = returned(tensor("float32", {1, 2}));
  const nlohmann::ordered_json nothing = {
      {"graphs", 0}, {"operators", 0}, {"frames", 1}, {"frames_skipped", 0}, {"breaks", {}}};
  const auto found = [&](const char* key, nlohmann::ordered_json value) {
    nlohmann::ordered_json proof = nothing;
    proof[key] = std::move(value);
    return judge_under(ran, with(ran, std::move(proof)), "bits");
  };
  EXPECT_EQ(found("frames", 1).status, Status::conform);
  EXPECT_TRUE(found("frames", 1).vacuous);
  EXPECT_TRUE(found("graphs", 1).vacuous);  // handed over without a call
  EXPECT_EQ(found("graphs", 1).status, Status::conform);
  EXPECT_EQ(found("frames", 0).status, Status::not_compiled);
  EXPECT_EQ(found("frames", nullptr).status, Status::not_compiled);
  EXPECT_EQ(found("frames_skipped", 1).status, Status::not_compiled);
  EXPECT_EQ(found("breaks", {"print"}).status, Status::not_compiled);
  EXPECT_EQ(found("recompile_limit", true).status, Status::not_compiled);
  EXPECT_EQ(found("operators", 2).status, Status::not_compiled);
  EXPECT_FALSE(judge_under(ran, with(ran, {{"graphs", 1}, {"operators", 2}, {"frames", 1}}), "bits")
                   .vacuous);
}

TEST(Judge, ValuesComeBeforeProof) {
  const Observation compiled = with(returned(tensor("float32", {1, 3})), nullptr);
  EXPECT_EQ(judge_under(returned(tensor("float32", {1, 2})), compiled, "bits").status,
            Status::value_diverges);
}

TEST(Judge, TwoEagersThatDifferAreTheHarness) {
  const Tensor a = tensor("float32", {1, 2}), b = tensor("float32", {1, 3});
  Observation compiled = returned(b);
  compiled.reference = std::make_shared<Observation>(returned(a));
  EXPECT_EQ(judge_under(returned(a), compiled, "bits").status, Status::value_diverges);
  EXPECT_EQ(judge_under(returned(b), compiled, "bits").status, Status::harness);
  EXPECT_EQ(judge_under(returned(b), compiled, "bits").reason,
            "eager in C++ and in Python differ: y");
  EXPECT_EQ(judge_under(raised("ValueError", "no"), compiled, "bits").status, Status::harness);
  compiled.reference = std::make_shared<Observation>(raised("ValueError", "no"));
  EXPECT_EQ(judge_under(raised("ValueError", "other text"), compiled, "bits").status,
            Status::validation_lost);
  EXPECT_EQ(judge_under(raised("TypeError", "no"), compiled, "bits").status, Status::harness);
}

// What the worker's process makes of eager says nothing of eager on another device: neither that it
// is wrong, nor what it would have been.
TEST(Judge, EagerOfTheWorkerIsNoWordOnEagerOnAnotherDevice) {
  const Tensor a = tensor("float32", {1, 2}), b = tensor("float32", {1, 3});
  Observation compiled = returned(b);
  compiled.reference = std::make_shared<Observation>(returned(b));
  const Observation other = returned(a), none = ended(Outcome::unsupported);
  JudgeRequest request = between(other, compiled);
  EXPECT_EQ(judged(request).status, Status::harness);
  request.cross_device = CrossDevice{"cpu", "cuda:0"};
  EXPECT_EQ(judged(request).status, Status::value_diverges);
  request = between(none, compiled);
  EXPECT_EQ(judged(request).status, Status::conform);
  request.cross_device = CrossDevice{"cpu", "cuda:0"};
  EXPECT_EQ(judged(request).status, Status::unsupported);
}

TEST(Judge, PythonEagerStandsInWhereCxxEagerHasNoSpelling) {
  const Tensor a = tensor("float32", {1, 2});
  Observation compiled = returned(tensor("float32", {1, 3}));
  const Findings found = judge_under(ended(Outcome::unsupported), compiled, "bits");
  EXPECT_EQ(found.status, Status::unsupported);
  EXPECT_EQ(found.unsupported_by, UnsupportedBy::reference);
  const Observation none = ended(Outcome::unsupported);
  EXPECT_EQ(judge_under(none, none, "bits").unsupported_by, UnsupportedBy::reference);
  EXPECT_EQ(judge_under(returned(a), none, "bits").unsupported_by, UnsupportedBy::path);
  EXPECT_EQ(judge_under(returned(a), returned(a), "bits").unsupported_by, std::nullopt);
  // What eager has no kernel for, eager does without, whatever the path says.
  const Findings kernel =
      judge_under(raised("NotImplementedError", "no"), raised("TypeError", "no"), "bits");
  EXPECT_EQ(kernel.status, Status::unsupported);
  EXPECT_EQ(kernel.unsupported_by, UnsupportedBy::reference);
  compiled.reference = std::make_shared<Observation>(returned(a));
  EXPECT_EQ(judge_under(ended(Outcome::unsupported), compiled, "bits").status,
            Status::value_diverges);
}

TEST(Judge, VacuousOutputs) {
  const auto vacuous = [](const Tensor& y) {
    return judge_under(returned(y), returned(y), "bits").vacuous;
  };
  EXPECT_TRUE(vacuous(tensor("float32", {0, -0.0, 0})));
  EXPECT_TRUE(vacuous(tensor("float16", {NAN, NAN})));
  EXPECT_TRUE(vacuous(tensor("int64", {})));
  EXPECT_TRUE(vacuous(tensor("bool", {0, 0})));
  EXPECT_FALSE(vacuous(tensor("float32", {0, 1})));
  EXPECT_FALSE(vacuous(tensor("bool", {0, 1})));
}

TEST(Judge, IllConditionedIsSaidOfWhatTheInputsCannotDecide) {
  const auto judged = [](std::vector<double> e, std::vector<double> c, std::vector<double> truth,
                         std::vector<double> moved) {
    const Observation eager = returned(tensor("float32", e));
    const Observation compiled = returned(tensor("float32", c));
    const Observation gold = returned(tensor("float64", truth));
    const Observation perturbed = returned(tensor("float64", moved));
    JudgeRequest request = between(eager, compiled);
    request.golds[Gold::fp64] = &gold;
    request.golds[Gold::perturbed] = &perturbed;
    request.contract = Contract::bits;
    return judge(request);
  };
  const Findings ill = judged({0.5, 1}, {0.25, 1}, {0.4, 1}, {0.9, 1});
  EXPECT_EQ(ill.nearer, Nearer::ill_conditioned);
  EXPECT_THAT(ill.reason, testing::EndsWith("; ill-conditioned: moving the inputs by one ulp moves "
                                            "the fp64 result 2 times as far as eager and compiled "
                                            "are apart"));
  // A wrong number beside one that is ill-conditioned, and much larger, is not excused.
  EXPECT_EQ(judged({0x1p100, 5}, {0x1p100, 6}, {0x1p100, 5}, {0x1.01p100, 5}).nearer,
            Nearer::eager);
  // One ulp in, one ulp out: that the results are an ulp apart is not the condition's doing.
  EXPECT_EQ(judged({1}, {1 + 0x1p-23}, {1}, {1 + 0x1p-22}).nearer, Nearer::eager);
  // An ill-conditioned output does not hide another one that is wrong.
  const auto two = [](std::vector<double> y, std::vector<double> z, std::string_view dtype) {
    return returned({CallResult{{{"y", tensor(dtype, y)}, {"z", tensor(dtype, z)}}, {}, {}}});
  };
  const Observation eager = two({0.5}, {5}, "float32"), compiled = two({0.25}, {6}, "float32");
  const Observation gold = two({0.4}, {5}, "float64"), moved = two({0.9}, {5}, "float64");
  JudgeRequest request = between(eager, compiled);
  request.golds[Gold::fp64] = &gold;
  request.golds[Gold::perturbed] = &moved;
  EXPECT_EQ(judge(request).nearer, Nearer::eager);
  EXPECT_THAT(judge(request).reason, HasSubstr("; z: compiled is further"));
  // Nor is an infinity that the perturbed gold has not.
  EXPECT_EQ(judged({3e38, 0.5}, {INFINITY, 0.25}, {3e38, 0.4}, {3e38, 0.9}).nearer, Nearer::eager);
  EXPECT_EQ(judged({1e10, 1}, {INFINITY, 1}, {1e10, 1}, {INFINITY, 1}).nearer,
            Nearer::ill_conditioned);
}

/// `y` as a list, in the form in which observations have one.
Observation listed(const std::vector<DataValue>& elements) {
  NamedValues outputs = {{"y", ScalarValue(ListOf{elements.size()})}};
  for (std::size_t i = 0; i < elements.size(); ++i)
    outputs.emplace_back("y[" + std::to_string(i) + "]", elements[i]);
  return returned({CallResult{std::move(outputs), {}, {}}});
}

TEST(Judge, ComparesListsElementByElement) {
  const DataValue one = tensor("float32", {1, 2}), other = tensor("float32", {1, 3});
  const DataValue three = ScalarValue(std::int64_t{3});
  const Findings same = judge_under(listed({one, three}), listed({one, three}), "bits");
  EXPECT_EQ(same.status, Status::conform);
  ASSERT_EQ(same.outputs.size(), 2U);
  EXPECT_EQ(same.outputs[0].name, "y[0]");
  EXPECT_EQ(same.outputs[0].type, "float32[2]");
  const Findings differs = judge_under(listed({one, three}), listed({other, three}), "bits");
  EXPECT_EQ(differs.status, Status::value_diverges);
  EXPECT_THAT(differs.reason, StartsWith("y[0]: 1 of 2 elements differ"));
  // The length is to a list what the shape is to a tensor.
  const Findings shorter = judge_under(listed({one, three}), listed({one}), "bits");
  EXPECT_EQ(shorter.status, Status::metadata_diverges);
  EXPECT_THAT(shorter.reason, StartsWith("y: a list of 2, compiled a list of 1"));
  EXPECT_EQ(judge_under(listed({one}), listed({one, three}), "bits").status,
            Status::metadata_diverges);
  EXPECT_EQ(judge_under(listed({}), listed({}), "bits").status, Status::conform);
  const Findings no_list = judge_under(listed({one}), returned(one), "bits");
  EXPECT_EQ(no_list.status, Status::metadata_diverges);
  EXPECT_THAT(no_list.reason, StartsWith("y: a list of 1, compiled float32[2]"));
}

TEST(Judge, ThePolicyOfAListIsThatOfItsElements) {
  const Observation eager = listed({tensor("float32", {1, 2})});
  const Observation compiled = listed({tensor("float32", {1, 2.0000002})});
  JudgeRequest request = between(eager, compiled);
  request.contract = Contract::bits;
  EXPECT_EQ(judge(request).status, Status::value_diverges);
  request.policy_of = [](std::string_view name) {
    return name == "y" ? std::optional(*parse_policy("ulp(1)")) : std::nullopt;
  };
  EXPECT_EQ(judge(request).status, Status::conform);
}

TEST(Judge, SurvivesMissingObservations) {
  const Observation eager = returned(tensor("float32", {1}));
  JudgeRequest request;
  EXPECT_EQ(judge(request).status, Status::worker_lost);
  request.compiled = &eager;
  EXPECT_EQ(judge(request).status, Status::unsupported);
  Observation empty = eager;
  empty.repetitions.clear();
  request.eager = &empty;
  EXPECT_EQ(judge(request).status, Status::worker_lost);
}

// Where strides are not in the contract the values are judged all the same, and what was let pass
// is said.
TEST(Judge, StridesOutsideTheContractAreNotHeldAgainstThePath) {
  const auto matrix = [](const std::vector<double>& values, std::vector<std::int64_t> strides) {
    Tensor made = reshaped(tensor("float32", values), {2, 2});
    made.view.strides = std::move(strides);
    return DataValue(made);
  };
  const DataValue rows = matrix({1, 2, 3, 4}, {2, 1}), columns = matrix({1, 3, 2, 4}, {1, 2}),
                  wrong = matrix({1, 3, 2, 5}, {1, 2});
  const Observation eager = returned(rows);
  const auto judged = [&](const DataValue& value, const std::string& uncontracted) {
    const Observation compiled = returned(value);
    JudgeRequest request = between(eager, compiled);
    request.contract = Contract::bits;
    request.uncontracted_strides = uncontracted;
    return judge(request);
  };
  EXPECT_EQ(judged(columns, "").status, Status::metadata_diverges);
  EXPECT_EQ(judged(wrong, "").status, Status::metadata_diverges);
  const Findings excused = judged(columns, "rows are padded");
  EXPECT_EQ(excused.status, Status::conform);
  EXPECT_EQ(excused.grade, Grade::bits);
  EXPECT_EQ(
      excused.reason,
      "y: strides [2, 1], compiled [1, 2], which the path's contract leaves out: rows are padded");
  EXPECT_EQ(judged(wrong, "rows are padded").status, Status::value_diverges);
  EXPECT_EQ(judged(rows, "rows are padded").reason, "");
}

TEST(Judge, BitsOutsideTheContractAreJudgedAsValues) {
  const auto judged = [](double compiled_value, const std::string& uncontracted) {
    const Observation eager = returned(tensor("float32", {1, 2}));
    const Observation compiled = returned(tensor("float32", {1, compiled_value}));
    JudgeRequest request = between(eager, compiled);
    request.contract = uncontracted.empty() ? Contract::bits : Contract::values;
    request.uncontracted_bits = uncontracted;
    return judge(request);
  };
  EXPECT_EQ(judged(2.0000002, "").status, Status::value_diverges);
  const Findings excused = judged(2.0000002, "sums have another order");
  EXPECT_EQ(excused.status, Status::conform);
  EXPECT_EQ(excused.reason,
            "y: bits differ, which the path's contract leaves out: sums have another order");
  EXPECT_EQ(judged(2.1, "sums have another order").status, Status::value_diverges);
  EXPECT_EQ(judged(2, "sums have another order").reason, "");
}

TEST(Judge, ATolerancesOfThePathIsForWhatACaseSaysNothingOf) {
  const std::vector<ToleranceRule> rules = {{{"mm"}, {"float32"}, 0.01, 0, "It adds in halves."}};
  const auto judged = [&](double compiled_value, bool asks) {
    const Observation eager = returned(tensor("float32", {1, 2}));
    const Observation compiled = returned(tensor("float32", {1, compiled_value}));
    JudgeRequest request = between(eager, compiled);
    request.contract = Contract::bits;
    request.tolerances = rules;
    if (asks) request.policy_of = [](std::string_view) { return *parse_policy("bits"); };
    return fixtures::judged(request);
  };
  const Findings within = judged(2.015, false);
  EXPECT_EQ(within.status, Status::conform);
  EXPECT_EQ(within.outputs.front().policy, "any_of(bits, close(rtol=0.01, atol=0))");
  EXPECT_EQ(judged(2.03, false).status, Status::value_diverges);
  EXPECT_EQ(judged(2.015, true).status, Status::value_diverges);
}

}  // namespace
}  // namespace lockstep
