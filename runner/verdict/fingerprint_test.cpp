#include "verdict/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <map>

#include "judge/fixtures.h"
#include "verdict/finding.h"

namespace lockstep {
namespace {

using namespace fixtures;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names_of(const Verdict& verdict) {
  std::vector<std::string> names;
  for (const Fingerprint& fingerprint : fingerprints_of(verdict)) names.push_back(fingerprint.name);
  return names;
}

/// The fingerprints of what two tensors as results of one operator differ in.
std::vector<std::string> between(const Tensor& eager, const Tensor& compiled) {
  Verdict verdict = fixtures::as_verdict(judge_under(returned(eager), returned(compiled), "bits"));
  verdict.facts.operators = {"aten::f"};
  return names_of(verdict);
}

Verdict raised(Status status, RaisedError error) {
  Verdict verdict;
  verdict.facts.instance = "bugs/1-case[dim=0]@cpu";
  verdict.facts.operators = {"aten::f"};
  verdict.found.status = status;
  verdict.found.differences = {{status, "", "it raised"}};
  verdict.found.compiled_error = std::move(error);
  return verdict;
}

RaisedError error(const std::string& class_name, const std::string& message,
                  const std::string& detail = "") {
  return {"run", class_name, message, {}, ErrorKind::error, detail};
}

TEST(Fingerprint, IsTheSameForEveryDtype) {
  for (const char* dtype : {"float16", "bfloat16", "float32", "float64"}) {
    const auto of = [&](const std::vector<double>& e, const std::vector<double>& c) {
      return between(tensor(dtype, e), tensor(dtype, c));
    };
    EXPECT_THAT(of({1, NAN}, {1, 0}), ElementsAre("f:eager-nan")) << dtype;
    EXPECT_THAT(of({1, 0}, {1, NAN}), ElementsAre("f:compiled-nan")) << dtype;
    EXPECT_THAT(of({1, INFINITY}, {2, 7}), ElementsAre("f:eager-infinity")) << dtype;
    EXPECT_THAT(of({1, 7}, {1, -INFINITY}), ElementsAre("f:compiled-infinity")) << dtype;
    EXPECT_THAT(of({1, NAN, 2}, {NAN, 1, 3}), ElementsAre("f:nan")) << dtype;
    EXPECT_THAT(of({1, INFINITY}, {INFINITY, -INFINITY}), ElementsAre("f:infinity")) << dtype;
    EXPECT_THAT(of({INFINITY}, {-INFINITY}), ElementsAre("f:infinity-sign")) << dtype;
    EXPECT_THAT(of({0.0, 1}, {-0.0, 1}), ElementsAre("f:zero-sign")) << dtype;
    // NaN counts before infinity, and both before finite numbers.
    EXPECT_THAT(of({1, INFINITY, NAN}, {2, 7, 7}), ElementsAre("f:eager-nan")) << dtype;
    EXPECT_THAT(of({0.0, 1}, {-0.0, 2}), ElementsAre("f:value")) << dtype;
    EXPECT_THAT(of({1}, {1.0078125}), ElementsAre("f:value")) << dtype;  // last bits or not
  }
  EXPECT_THAT(between(tensor("int8", {1}), tensor("int8", {2})), ElementsAre("f:integer"));
  EXPECT_THAT(between(tensor("bool", {1}), tensor("bool", {0})), ElementsAre("f:integer"));
}

TEST(Fingerprint, OfMetadataIsWhatDiffersFirst) {
  const Tensor two = tensor("float32", {1, 2});
  EXPECT_THAT(between(two, tensor("float64", {1, 2})), ElementsAre("f:dtype"));
  EXPECT_THAT(between(two, tensor("float32", {1, 2, 3})), ElementsAre("f:shape"));
  Tensor strided = tensor("float32", {1, 2, 3, 4});
  strided.view.shape = {2, 2};
  strided.view.strides = {2, 1};
  Tensor transposed = strided;
  transposed.view.strides = {1, 2};
  EXPECT_THAT(between(strided, transposed), ElementsAre("f:strides", "f:value"));
}

TEST(Fingerprint, OfAStateIsWhatIsInAnother) {
  Verdict verdict;
  verdict.facts.instance = "bugs/1@cpu";
  verdict.facts.operators = {"aten::celu.default"};
  verdict.found.status = Status::state_diverges;
  verdict.found.differences = {{Status::state_diverges, "", "generator cpu: why", 2},
                               {Status::state_diverges, "", "mode default_dtype: float32", 0},
                               {Status::state_diverges, "", "overwritten: y of call 1", 0},
                               {Status::value_diverges, "y", "with another seed 3 of 4", 3}};
  EXPECT_THAT(names_of(verdict), ElementsAre("celu:generator", "celu:mode-default_dtype",
                                             "celu:overwritten", "celu:seed"));
}

TEST(Fingerprint, OfSeveralDifferencesHasEachOnceAndTheWorstGrade) {
  Verdict verdict;
  verdict.facts.operators = {"aten::celu.default"};
  verdict.found.status = Status::nonfinite_diverges;
  const auto output = [&](const std::string& name, Status status, Grade grade, auto classes) {
    OutputComparison result;
    result.name = name;
    result.status = status;
    result.type = "float32[2]";
    result.grade = grade;
    classes(result.classes);
    verdict.found.outputs.push_back(result);
  };
  const auto values = [](DifferenceClasses& classes) { classes.last_bits = 1; };
  output("y", Status::value_diverges, Grade::ulp4, values);
  output("z", Status::value_diverges, Grade::close, values);
  output("grad x", Status::nonfinite_diverges, Grade::none,
         [](DifferenceClasses& classes) { classes.nan = classes.eager_nan = 1; });
  output("w", Status::conform, Grade::none, values);
  verdict.found.differences = {{Status::nonfinite_diverges, "grad x", ""},
                               {Status::value_diverges, "y", ""},
                               {Status::value_diverges, "z", ""}};
  EXPECT_THAT(fingerprints_of(verdict),
              ElementsAre(Fingerprint{"celu-gradient:eager-nan", Grade::none},
                          Fingerprint{"celu:value", Grade::close}));
  verdict.found.differences = {{Status::aliasing_diverges, "aliases", ""},
                               {Status::mutation_diverges, "y", ""},
                               {Status::fell_back, "", ""},
                               {Status::value_diverges, "z", "", 2}};
  EXPECT_THAT(names_of(verdict),
              ElementsAre("celu:alias", "celu:mutation", "celu:fell_back", "celu:unstable"));
}

TEST(Fingerprint, OfNothingIsNone) {
  Verdict verdict;
  for (const StatusInfo& status : all_statuses()) {
    verdict.found.status = status.status;
    // What happened has a name, however little the verdict says.
    EXPECT_EQ(fingerprints_of(verdict).size(), status.expectable() ? 1U : 0U) << status.name;
  }
}

TEST(Fingerprint, NamesOperatorsAsTheirLoweringsAre) {
  const auto of = [](const std::vector<std::string>& operators) {
    return operators_of(operators, "bugs/1-case[dim=0]@cpu");
  };
  EXPECT_EQ(of({"aten::add_.Tensor"}), "add");
  EXPECT_EQ(of({"aten::pow.Tensor_Scalar", "aten::pow.Scalar"}), "pow");
  EXPECT_EQ(of({"torch.nn.functional.linear", "aten::relu"}), "linear+relu");
  EXPECT_EQ(of({"torch.linalg.cond"}), of({"aten::linalg_cond.default"}));
  EXPECT_EQ(of({"torch.Tensor.index_copy_"}), "index_copy");
  EXPECT_EQ(of({"aten::__and__.Tensor"}), "__and__");
  EXPECT_EQ(of({"mine::op"}), "op");
  EXPECT_EQ(of({"aten::sym_size.int", "aten::arange.start_step"}), "arange");
  EXPECT_EQ(of({}), "bugs/1-case");
  EXPECT_EQ(of({"aten::a", "aten::b", "aten::c", "aten::d"}), "bugs/1-case");
  EXPECT_EQ(operators_of(std::string_view("tan-gradient:value")), "tan");
  EXPECT_EQ(operators_of(std::string_view("bugs/1-case:KeyError-a:b")), "bugs/1-case");
}

TEST(Fingerprint, OfAnErrorIsItsClassAndFirstWordsWithoutWhatChanges) {
  const auto of = [](const RaisedError& error) {
    return names_of(raised(Status::internal_error, error)).front();
  };
  EXPECT_EQ(of(error("KeyError", "torch.float8_e8m0fnu")), "f:KeyError-torch");
  EXPECT_EQ(of(error("torch._dynamo.exc.Unsupported", "\n  Call of `x.y` (delayed)\n  Hint: b")),
            "f:Unsupported-Call-of-delayed");
  EXPECT_EQ(
      of(error("RuntimeError", "got 'a b' and \"c\", doesn't fit in 12 of 0x7f, see /tmp/a.b/c")),
      "f:RuntimeError-got-and-doesn-fit-in-of-see");
  EXPECT_EQ(of(error("E", "one two three four five six seven eight nine")),
            "f:E-one-two-three-four-five-six-seven-eight");
  EXPECT_EQ(of(error("CppCompileError",
                     "C++ compile error\n\nCommand:\ng++ a.cpp\n\nOutput:\n"
                     "/tmp/c12.cpp:3:4: error: 'tmp7' was not declared")),
            "f:CppCompileError-error-was-not-declared");
  EXPECT_EQ(of(error("E", "")), "f:E");
  EXPECT_EQ(of(error("E", "a name " + std::string(5000, 'x') + " of five thousand letters")),
            "f:E-name-of-five-thousand-letters");
  EXPECT_LT(of(error(std::string(5000, 'X'), "too long a class")).size(), 100U);
}

TEST(Fingerprint, OfAnErrorNamesTheOperatorThatTheErrorDoes) {
  const auto of = [](const RaisedError& error) {
    return names_of(raised(Status::internal_error, error)).front();
  };
  EXPECT_EQ(of(error("AssertionError", "no", "target: aten.sort.default args[0]: x")),
            "sort:AssertionError-no");
  EXPECT_EQ(
      of(error("AssertionError", "expected size 4==4\nError in op: torch.ops.aten.quantize.x")),
      "quantize:AssertionError-expected-size");
  EXPECT_EQ(of(error("E", "no", "target: strange text")), "f:E-no");
}

TEST(Fingerprint, OfAnIndexCheckIsTheCheckWhateverItWasFor) {
  for (const char* text : {"kernel, /a/b.cpp:39, index out of bounds: 0 <= tmp2 < 1L",
                           "kernel, /a/c.cpp:13, index out of bounds: tmp1 < 2L"}) {
    EXPECT_THAT(names_of(raised(Status::error_diverges, error("RuntimeError", text))),
                ElementsAre("generated-code:index-check"));
  }
}

TEST(Fingerprint, OfAnErrorInsteadOfAnotherNamesBoth) {
  Verdict verdict = raised(Status::error_diverges, error("ValueError", "other words"));
  verdict.found.eager_error = error("RuntimeError", "words");
  EXPECT_THAT(names_of(verdict), ElementsAre("f:ValueError-not-RuntimeError"));
  verdict.found.compiled_error.reset();
  verdict.found.status = Status::validation_lost;
  verdict.found.differences.front().status = verdict.found.status;
  EXPECT_THAT(names_of(verdict), ElementsAre("f:RuntimeError-lost"));
}

TEST(Fingerprint, OfAProcessThatEndedSaysWhere) {
  Verdict verdict;
  verdict.facts.operators = {"aten::f"};
  verdict.found.status = Status::crash;
  EXPECT_THAT(names_of(verdict), ElementsAre("f:crash"));
  verdict.found.stage = "compile";
  EXPECT_THAT(names_of(verdict), ElementsAre("f:crash-in-compile"));
}

TEST(Fingerprint, OfWhatWasExplainedIsWhoDidItAndWhatEndsIt) {
  Verdict verdict = fixtures::as_verdict(
      judge_under(returned(tensor("float32", {1})), returned(tensor("float32", {2})), "bits"));
  verdict.facts.instance = "patterns/gelu[dtype=bfloat16]@cpu";
  verdict.facts.operators = {"aten::mul.Tensor", "aten::erf", "aten::add.Tensor", "aten::to.dtype"};
  const auto explained = [&] {
    std::vector<std::string> names;
    for (const Fingerprint& fingerprint : explained_fingerprints_of(verdict))
      names.push_back(fingerprint.name);
    return names;
  };
  EXPECT_THAT(explained(), ElementsAre("patterns/gelu:value"));
  verdict.account.explained = {
      {"operators", {"mul.Tensor", "erf"}},
      {"knobs", {{{"name", "dynamic=true"}}, {{"name", "fall_back"}, {"ends", true}}}}};
  EXPECT_THAT(explained(), ElementsAre("mul+erf:value/fall_back"));
  EXPECT_THAT(names_of(verdict), ElementsAre("patterns/gelu:value")) << "rules go by that";
  verdict.account.explained = {{"operators", {"torch.nn.functional.gelu"}}};
  EXPECT_THAT(explained(), ElementsAre("gelu:value"));
  verdict.account.explained = {{"knobs", {{{"name", "fall_back"}, {"ends", true}}}}};
  EXPECT_THAT(explained(), ElementsAre("patterns/gelu:value/fall_back")) << "nobody was found";
  verdict.account.explained = {{"operators", {"a", "b", "c", "d"}}};
  EXPECT_THAT(explained(), ElementsAre("patterns/gelu:value")) << "too many to be a name";
}

}  // namespace
}  // namespace lockstep
