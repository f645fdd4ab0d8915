#include "cases/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cases/content.h"
#include "cases/decode.h"
#include "cases/suite.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// An overload with the tag `pointwise`, of arguments such as "Tensor self", "Scalar? min=" (which
/// has a default), "*int decimals" (by keyword only) and "Tensor! self" (which is written to).
Json overload(const std::string& name, const std::vector<std::string>& arguments,
              const std::vector<std::string>& returns = {"Tensor"},
              const std::vector<std::string>& tags = {"pointwise"}) {
  Json json = {{"overload", name}, {"tags", tags}, {"arguments", Json::array()}};
  for (std::string text : arguments) {
    const bool keyword = text.starts_with('*'), has_default = text.ends_with('=');
    if (keyword) text.erase(0, 1);
    if (has_default) text.pop_back();
    const std::size_t space = text.find(' ');
    std::string type = text.substr(0, space);
    const bool mutates = type.ends_with('!');
    if (mutates) type.pop_back();
    json["arguments"].push_back({{"name", text.substr(space + 1)},
                                 {"type", type},
                                 {"kwarg_only", keyword},
                                 {"has_default", has_default},
                                 {"mutates", mutates}});
  }
  for (const std::string& type : returns) json["returns"].push_back({{"type", type}});
  if (returns.empty()) json["returns"] = Json::array();
  return json;
}

Registry registry_of(const Json& operators) {
  return *Registry::from_json(
      {{"torch", "2.0"}, {"operators_digest", "f"}, {"operators", operators}});
}

/// Each overload that is not taken breaks one rule, and no other.
const Json kOperators = {
    {"aten::sin",
     {overload("", {"Tensor self"}), overload("out", {"Tensor self", "*Tensor! out"})}},
    {"aten::sin_", {overload("", {"Tensor! self"})}},
    {"aten::gelu", {overload("", {"Tensor self", "*str approximate="})}},
    {"aten::frexp", {overload("Tensor", {"Tensor self"}, {"Tensor", "Tensor"})}},
    {"aten::clamp", {overload("Tensor", {"Tensor self", "Tensor? min=", "Tensor? max="})}},
    {"aten::add",
     {overload("Tensor", {"Tensor self", "Tensor other", "*Scalar alpha="}),
      overload("Scalar", {"Tensor self", "Scalar other", "Scalar alpha="})}},
    {"aten::rpow", {overload("", {"Scalar self", "Tensor exponent"})}},
    {"aten::round", {overload("decimals", {"Tensor self", "*int decimals"})}},
    {"aten::both", {overload("", {"Tensor self", "int n", "Scalar a"})}},
    {"aten::equal", {overload("", {"Tensor self"}, {"bool"})}},
    {"aten::mixed", {overload("", {"Tensor self"}, {"Tensor", "int"})}},
    {"aten::nothing", {overload("", {"Tensor self"}, {})}},
    {"aten::_inner", {overload("", {"Tensor self"})}},
    {"aten::rrelu", {overload("", {"Tensor self", "Generator? generator="})}},
    {"aten::noise",
     {overload("", {"Tensor self"}, {"Tensor"}, {"pointwise", "nondeterministic_seeded"})}},
    {"aten::stack", {overload("", {"Tensor self", "Tensor[] tensors"})}},
    {"aten::maybe", {overload("", {"Tensor self", "Tensor? other"})}},
    {"aten::named", {overload("", {"Tensor self", "str filename="})}},
    {"aten::sum", {overload("", {"Tensor self"}, {"Tensor"}, {"reduction"})}},
    {"mine::sin", {overload("", {"Tensor self"})}},
};

const Registry& declared_operators() {
  static const Registry made = registry_of(kOperators);
  return made;
}

Sweep sweep_of(std::size_t inputs, Json given = nullptr) {
  Sweep sweep;
  sweep.tag = "pointwise";
  sweep.given = std::move(given);
  for (std::size_t i = 0; i < inputs; ++i) sweep.inputs.push_back(std::string(1, "xzuv"[i]));
  return sweep;
}

TEST(Sweep, TakesWhatItsInputsAndValuesFit) {
  EXPECT_THAT(swept_operators(sweep_of(1), declared_operators()),
              ElementsAre("clamp.Tensor", "frexp.Tensor", "gelu", "sin"));
  EXPECT_THAT(swept_operators(sweep_of(2), declared_operators()), ElementsAre("add.Tensor"));
  EXPECT_THAT(swept_operators(sweep_of(1, {{"Scalar", 2.5}}), declared_operators()),
              ElementsAre("add.Scalar", "rpow"));
  EXPECT_THAT(swept_operators(sweep_of(1, {{"Scalar", 2.5}, {"int", 2}}), declared_operators()),
              ElementsAre("add.Scalar", "both", "round.decimals", "rpow"));
  EXPECT_THAT(swept_operators(sweep_of(3), declared_operators()), IsEmpty());
}

TEST(Sweep, SaysWhyItDoesNotTakeAnOverload) {
  const std::vector<Sweep> sweeps = {sweep_of(1), sweep_of(1, {{"Scalar", 2.5}})};
  const auto why = [&](const std::string& name) {
    const std::string base = name.substr(0, name.rfind('.'));
    return unswept_reason(sweeps, *declared_operators().find(base),
                          *declared_operators().find_overload(name));
  };
  EXPECT_EQ(why("sin"), "");
  EXPECT_EQ(why("add.Scalar"), "");
  EXPECT_EQ(why("sin.out"), "writes to out");
  EXPECT_EQ(why("sin_"), "writes to its argument");
  EXPECT_EQ(why("_inner"), "internal: begins with _");
  EXPECT_EQ(why("rrelu"), "takes a generator");
  EXPECT_EQ(why("noise"), "draws random numbers");
  EXPECT_EQ(why("equal"), "returns no tensor, or not only tensors");
  EXPECT_EQ(why("mixed"), "returns no tensor, or not only tensors");
  EXPECT_EQ(why("nothing"), "returns no tensor, or not only tensors");
  EXPECT_EQ(why("stack"), "2 tensors: no sweep has so many inputs, or those of its names");
  EXPECT_EQ(why("maybe"), "2 tensors: no sweep has so many inputs, or those of its names");
  EXPECT_EQ(why("named"), "its argument `filename` names a file");
  EXPECT_EQ(why("mine::sin"), "no operator of aten");
  EXPECT_EQ(why("add.Tensor"), "2 tensors: no sweep has so many inputs, or those of its names");
  EXPECT_EQ(why("round.decimals"), "needs `int decimals`, which no sweep of 1 tensor gives");
  EXPECT_EQ(why("both"), "needs `int n`, which no sweep of 1 tensor gives");
  EXPECT_EQ(why("sum"), "1 tensor: no sweep has so many inputs, or those of its names")
      << "of another tag";
}

TEST(Sweep, ValuesOfSeveralSweepsAreNotTakenTogether) {
  const Operator& both = *declared_operators().find("both");
  const std::vector<Sweep> apart = {sweep_of(1, {{"Scalar", 2.5}}), sweep_of(1, {{"int", 2}})};
  EXPECT_EQ(unswept_reason(apart, both, both.overloads[0]),
            "needs several things given, which no single sweep gives");
  const Operator& sin = *declared_operators().find("sin");
  EXPECT_EQ(unswept_reason(apart, sin, sin.overloads[0]),
            "needs nothing given, and every sweep of as many tensors gives something");
}

TEST(Sweep, CallsTheOverloadWithItsArgumentsInOrder) {
  const auto step = [](Sweep sweep, const char* op) {
    sweep.op = op;
    return swept_program(sweep, declared_operators().find_overload(op))["steps"][0].dump();
  };
  EXPECT_EQ(step(sweep_of(2), "add.Tensor"),
            R"({"let":"y","op":"add.Tensor","args":["%x","%z"],"kwargs":{}})");
  EXPECT_EQ(step(sweep_of(1, {{"Scalar", 2.5}}), "rpow"),
            R"({"let":"y","op":"rpow.default","args":[2.5,"%x"],"kwargs":{}})");
  EXPECT_EQ(step(sweep_of(1, {{"int", 2}}), "round.decimals"),
            R"({"let":"y","op":"round.decimals","args":["%x"],"kwargs":{"decimals":2}})");
  EXPECT_EQ(step(sweep_of(1), "frexp.Tensor"),
            R"({"let":["y","y1"],"op":"frexp.Tensor","args":["%x"],"kwargs":{}})");
}

CaseFile file_of(const std::string& keys, Diagnostics& diagnostics) {
  return parse_case_file(
      {"cases/s.json",
       R"({"format": 1, "title": "t", "share": true, "inputs": {"x": {"dtype": "$dtype",
                          "shape": [4], "fill": "normal", "requires_grad": true}},
                          "matrix": {"dtype": ["float16", "float32"]}, )" +
           keys + "}",
       {}},
      diagnostics);
}

constexpr const char* kUnary = R"("sweep": {"operators": {"tag": "pointwise"}},
    "backward": {"of": ["y"]}, "compare": {"y": "bits", "y1": "exact", "x.grad": "close"})";

/// Decodes every choice.
std::vector<Case> decoded(const CaseFile& file, const Registry* operators,
                          Diagnostics& diagnostics) {
  std::vector<Case> cases;
  for (const MatrixChoice& choice : file.choices) {
    std::vector<std::string> unknown;
    auto one = decode_case(file.file, substitute(file.file.root, choice, "cpu", unknown), file.id,
                           {operators, "cpu", false}, diagnostics);
    if (one) cases.push_back(std::move(*one));
  }
  return cases;
}

TEST(Sweep, IsTheFirstKeyOfTheMatrix) {
  Diagnostics diagnostics;
  std::vector<CaseFile> suite = {file_of(kUnary, diagnostics)};
  expand_sweeps(suite, &declared_operators());
  std::vector<std::string> suffixes;
  for (const MatrixChoice& choice : suite[0].choices) suffixes.push_back(choice.suffix);
  EXPECT_THAT(suffixes,
              ElementsAre("[op=clamp.Tensor,dtype=float16]", "[op=clamp.Tensor,dtype=float32]",
                          "[op=frexp.Tensor,dtype=float16]", "[op=frexp.Tensor,dtype=float32]",
                          "[op=gelu,dtype=float16]", "[op=gelu,dtype=float32]",
                          "[op=sin,dtype=float16]", "[op=sin,dtype=float32]"));
  const std::vector<Case> cases = decoded(suite[0], &declared_operators(), diagnostics);
  ASSERT_THAT(diagnostics, IsEmpty());
  ASSERT_EQ(cases.size(), 8U);
  EXPECT_THAT(cases[2].operators, ElementsAre("aten::frexp.Tensor"));
  EXPECT_EQ(output_names(cases[2].program), (std::vector<std::string>{"y", "y1"}));
  EXPECT_EQ(cases[2].compare.size(), 3U);
  EXPECT_EQ(output_names(cases[6].program), std::vector<std::string>{"y"});
  EXPECT_EQ(cases[6].compare.size(), 2U) << "sin has no y1";
  EXPECT_EQ(cases[6].lacking, "");
}

TEST(Content, IsOfTheProgramAndNotOfTheFile) {
  Diagnostics diagnostics;
  std::vector<CaseFile> suite = {file_of(kUnary, diagnostics)};
  expand_sweeps(suite, &declared_operators());
  std::set<std::string> digests;
  for (const MatrixChoice& choice : suite[0].choices)
    digests.insert(content_digest(suite[0], choice, &declared_operators()));
  EXPECT_EQ(digests.size(), suite[0].choices.size());
  EXPECT_FALSE(digests.contains(""));
  // What else a rule takes, and what people read, is no part of an instance.
  CaseFile other = suite[0];
  other.file.root["title"] = "another";
  other.file.root["matrix"]["dtype"].push_back("float64");
  other.file.root["sweep"]["operators"]["names"] = {"*"};
  const MatrixChoice& first = suite[0].choices.front();
  const std::string digest = content_digest(suite[0], first, &declared_operators());
  EXPECT_EQ(content_digest(other, first, &declared_operators()), digest);
  other.file.root["seed"] = 7;
  EXPECT_NE(content_digest(other, first, &declared_operators()), digest);
  EXPECT_EQ(content_digest(suite[0], first, nullptr), "");
}

TEST(Content, IsTheSameWhereverTheStepsComeFrom) {
  Diagnostics diagnostics;
  const auto digest = [&](const std::string& source) {
    const CaseFile file =
        parse_case_file({"cases/t.json",
                         R"({"format": 1, "title": "t", "prepare": {"steps": [{"let": "p")" +
                             source + R"(}]}, "steps": [{"with": {}, "steps": [{"let": "y")" +
                             source + "}]" + source + "}]}",
                         {}},
                        diagnostics);
    return content_digest(file, file.choices.at(0), nullptr);
  };
  EXPECT_EQ(digest(""), digest(R"(, "source": {"file": "net.py", "line": 8})"));
  EXPECT_NE(digest(""), digest(R"(, "op": "relu")"));
  EXPECT_TRUE(diagnostics.empty());
}

TEST(Content, InstancesOfOtherTorchesCanBeAdded) {
  Diagnostics diagnostics;
  std::vector<CaseFile> suite = {file_of(kUnary, diagnostics)};
  expand_sweeps(suite, &declared_operators());
  const std::size_t before = suite[0].choices.size();
  const std::string known = suite[0].choices.front().suffix;
  add_choices(suite[0], {known, "[op=gone,dtype=float16]", "[op=gone,dtype=complex32]", "[x=1]"});
  ASSERT_EQ(suite[0].choices.size(), before + 1);
  EXPECT_EQ(suite[0].choices.back().suffix, "[op=gone,dtype=float16]");
  EXPECT_EQ(content_digest(suite[0], suite[0].choices.back(), &declared_operators()), "");
}

TEST(Sweep, FollowsTheRegistryThatItIsExpandedOverLast) {
  Diagnostics diagnostics;
  std::vector<CaseFile> suite = {file_of(kUnary, diagnostics)};
  expand_sweeps(suite, &declared_operators());
  const Registry newer = registry_of({{"aten::brand_new", {overload("", {"Tensor self"})}}});
  expand_sweeps(suite, &newer);
  ASSERT_EQ(suite[0].choices.size(), 2U);
  EXPECT_EQ(suite[0].choices[0].suffix, "[op=brand_new,dtype=float16]");
  expand_sweeps(suite, nullptr);
  EXPECT_THAT(suite[0].choices, IsEmpty());
}

TEST(Sweep, WithoutARegistryItsStructureIsChecked) {
  Diagnostics diagnostics;
  const CaseFile good = file_of(kUnary, diagnostics);
  for (const Case& declared : decoded(good, nullptr, diagnostics)) EXPECT_NE(declared.lacking, "");
  EXPECT_THAT(diagnostics, IsEmpty());
  const CaseFile bad =
      file_of(R"("sweep": {"operators": {}}, "compare": {"z": "bits"})", diagnostics);
  decoded(bad, nullptr, diagnostics);
  ASSERT_EQ(diagnostics.size(), 2U);
  EXPECT_THAT(diagnostics[0].message, HasSubstr("expected a rule"));
  EXPECT_THAT(diagnostics[1].message, HasSubstr("found `z`"));
}

TEST(Sweep, ThatTakesNothingSaysSo) {
  Diagnostics diagnostics;
  std::vector<CaseFile> suite = {file_of(
      R"("sweep": {"operators": {"tag": "pointwise"}, "given": {"bool": true}})", diagnostics)};
  expand_sweeps(suite, &declared_operators());
  ASSERT_EQ(suite[0].choices.size(), 2U) << "the matrix alone";
  decoded(suite[0], &declared_operators(), diagnostics);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_THAT(diagnostics[0].message, HasSubstr("takes no operator of torch 2.0"));
}

TEST(Sweep, TakesWhatTheRuleAndTheInputsOfAChoiceSay) {
  Diagnostics diagnostics;
  const std::string text = R"({"format": 1, "title": "t", "inputs": "$of.all",
      "matrix": {"of": [{"is": "a", "all": {"x": {"dtype": "float32", "shape": [4]}}},
                        {"is": "b", "all": {"x": {"dtype": "float64", "shape": [4]}}},
                        {"is": "c", "all": {"x": {"dtype": "float32", "shape": [4]},
                                            "z": {"dtype": "float32", "shape": [4]}}}],
                 "tag": ["pointwise", "reduction"]},
      "sweep": {"operators": {"tag": "$tag"}}})";
  std::vector<CaseFile> suite = {parse_case_file({"cases/s.json", text, {}}, diagnostics)};
  expand_sweeps(suite, &declared_operators());
  std::map<std::string, int> counts;
  for (const MatrixChoice& choice : suite[0].choices) ++counts[choice.op];
  EXPECT_EQ(counts, (std::map<std::string, int>{{"", 1},
                                                {"add.Tensor", 1},
                                                {"clamp.Tensor", 2},
                                                {"frexp.Tensor", 2},
                                                {"gelu", 2},
                                                {"sin", 2},
                                                {"sum", 2}}));
}

TEST(Sweep, TakesWhatItsNamesTake) {
  Diagnostics diagnostics;
  std::vector<CaseFile> suite = {
      file_of(R"("sweep": {"operators": {"tag": "pointwise", "names": ["!s*", "!*.Tensor"]}})",
              diagnostics)};
  expand_sweeps(suite, &declared_operators());
  ASSERT_EQ(suite[0].choices.size(), 2U);
  EXPECT_EQ(suite[0].choices[0].suffix, "[op=gelu,dtype=float16]");
  Sweep sweep = sweep_of(1);
  sweep.names = {"!sin"};
  const Operator& sin = *declared_operators().find("aten::sin");
  EXPECT_EQ(unswept_reason({&sweep, 1}, sin, sin.overloads[0]),
            "left out by the `names` of every sweep that could take it");
}

const Registry& classes() {
  static const Registry made = registry_of({
      {"aten::sum",
       {overload("dim", {"Tensor self", "int[]? dim", "bool keepdim=", "*ScalarType? dtype="})}},
      {"aten::max",
       {overload("dim", {"Tensor self", "int dim", "bool keepdim="}, {"Tensor", "Tensor"})}},
      {"aten::cumsum", {overload("", {"Tensor self", "int dim"})}},
      {"aten::gather", {overload("", {"Tensor self", "int dim", "Tensor index"})}},
      {"aten::scatter",
       {overload("src", {"Tensor self", "int dim", "Tensor index", "Tensor src"})}},
      {"aten::unbind", {overload("int", {"Tensor self", "int dim="}, {"Tensor[]"})}},
      {"aten::cat", {overload("", {"Tensor[] tensors", "int dim="})}},
      {"aten::_softmax", {overload("", {"Tensor self", "int dim"}, {"Tensor"}, {"core"})}},
      {"aten::draw",
       {overload("", {"Tensor self", "int dim"}, {"Tensor"}, {"nondeterministic_seeded"})}},
  });
  return made;
}

Sweep giving(Json given, std::vector<std::string> takes = {}, std::vector<std::string> names = {}) {
  Sweep sweep;
  sweep.inputs = {"x", "i", "s"};
  sweep.given = std::move(given);
  sweep.takes = std::move(takes);
  sweep.names = std::move(names);
  return sweep;
}

TEST(Sweep, GivesArgumentsByTheNamesOfParameters) {
  const Json tensors = {{"self", "%x"}, {"dim", 1}, {"index", "%i"}, {"src", "%s"}};
  EXPECT_THAT(swept_operators(giving(tensors, {"index"}), classes()),
              ElementsAre("gather", "scatter.src"));
  EXPECT_THAT(swept_operators(giving(tensors, {"int dim", "!index"}), classes()),
              ElementsAre("_softmax", "cumsum", "max.dim", "unbind.int"));
  EXPECT_THAT(swept_operators(giving(tensors, {"keepdim"}), classes()), ElementsAre("max.dim"))
      << "sum takes a list of dims";
  EXPECT_THAT(swept_operators(giving({{"Tensor[]", {"%x", "%s"}}}), classes()), ElementsAre("cat"));
  EXPECT_THAT(swept_operators(giving({{"self", "%x"}}, {}, {"gather", "cumsum"}), classes()),
              IsEmpty())
      << "neither index nor dim is given";
  EXPECT_THAT(swept_operators(giving(tensors, {}, {"dr*"}), classes()), IsEmpty());
  EXPECT_THAT(swept_operators(giving(tensors, {}, {"draw"}), classes()), ElementsAre("draw"))
      << "named in full";
}

TEST(Sweep, PassesWhatHasADefaultWhereItIsGiven) {
  Sweep sweep = giving({{"self", "%x"}, {"dim", {1}}, {"keepdim", true}});
  sweep.op = "sum.dim";
  EXPECT_EQ(swept_program(sweep, classes().find_overload("sum.dim"))["steps"][0].dump(),
            R"({"let":"y","op":"sum.dim","args":["%x",[1],true],"kwargs":{}})");
}

CaseFile class_file(const std::string& keys, Diagnostics& diagnostics) {
  return parse_case_file({"cases/c.json",
                          R"({"format": 1, "title": "t", "inputs": {
           "x": {"dtype": "float32", "shape": [4, 3], "fill": "normal", "requires_grad": true},
           "i": {"dtype": "int64", "shape": [4, 3], "fill": "constant"},
           "s": {"dtype": "float32", "shape": [4, 3], "fill": "normal", "requires_grad": true}}, )" +
                              keys + "}",
                          {}},
                         diagnostics);
}

TEST(Sweep, InputsThatAnOperatorHasNoUseForAreLeftOut) {
  Diagnostics diagnostics;
  std::vector<CaseFile> suite = {class_file(
      R"("sweep": {"operators": {"takes": ["dim", "!tensors"]},
                   "given": {"self": "%x", "dim": 1, "index": "%i", "src": "%s"}},
         "backward": {"of": ["y"]}, "compare": {"s.grad": "bits"})",
      diagnostics)};
  expand_sweeps(suite, &classes());
  const std::vector<Case> cases = decoded(suite[0], &classes(), diagnostics);
  ASSERT_THAT(diagnostics, IsEmpty()) << diagnostics[0].message;
  ASSERT_EQ(cases.size(), 6U) << "sum takes a list of dims, which 1 is not";
  EXPECT_THAT(cases[1].program.inputs, ElementsAre("x")) << "cumsum";
  EXPECT_THAT(cases[2].program.inputs, ElementsAre("x", "i")) << "gather";
  EXPECT_THAT(cases[2].compare, IsEmpty());
  EXPECT_THAT(cases[4].program.inputs, ElementsAre("x", "i", "s")) << "scatter";
  EXPECT_EQ(cases[4].compare.size(), 1U);
  EXPECT_THAT(output_names(cases[5].program), ElementsAre("y")) << "the list that unbind returns";
}

TEST(Sweep, ListsCalls) {
  Diagnostics diagnostics;
  const CaseFile file = class_file(
      R"("sweep": {"calls": [["gather", "%x", 1, "%i"], ["cat", ["%x", "%s"], {"dim": -1}],
                             ["max.dim", "%x", "$dim"]]},
         "matrix": {"dim": [0, 1]})",
      diagnostics);
  ASSERT_THAT(diagnostics, IsEmpty()) << diagnostics[0].message;
  std::vector<std::string> suffixes;
  for (const MatrixChoice& choice : file.choices) suffixes.push_back(choice.suffix);
  EXPECT_EQ(suffixes.at(0), "[call=gather(x,1,i),dim=0]");
  EXPECT_EQ(suffixes.at(4), "[call=cat([x,s],dim=-1),dim=1]") << "the calls turn fastest";
  const std::vector<Case> cases = decoded(file, &classes(), diagnostics);
  ASSERT_THAT(diagnostics, IsEmpty()) << diagnostics[0].message;
  ASSERT_EQ(cases.size(), 6U);
  EXPECT_THAT(cases[0].program.inputs, ElementsAre("x", "i"));
  EXPECT_THAT(cases[1].program.inputs, ElementsAre("x", "s"));
  EXPECT_THAT(output_names(cases[2].program), ElementsAre("y", "y1"));
  const Operator& gather = *classes().find("gather");
  EXPECT_EQ(unswept_reason(sweeps_of(file), gather, gather.overloads[0]), "");
}

TEST(Sweep, SaysWhatIsWrongWithAList) {
  const auto wrong = [](const std::string& sweep) {
    Diagnostics diagnostics;
    const CaseFile file = class_file("\"sweep\": " + sweep, diagnostics);
    decoded(file, &classes(), diagnostics);
    return diagnostics.empty() ? "" : diagnostics[0].message;
  };
  EXPECT_THAT(wrong(R"({"calls": []})"), HasSubstr("expected at least one call"));
  EXPECT_THAT(wrong(R"({"calls": [[]]})"), HasSubstr("a list: an operator and its arguments"));
  EXPECT_THAT(wrong(R"({"calls": [["cumsum", "%x", 1], ["cumsum", "%x", 1]]})"),
              HasSubstr("for the second time"));
  EXPECT_THAT(wrong(R"({"calls": [["cumsum", "%x", 1]], "operators": {"tag": "core"}})"),
              HasSubstr("found `operators` beside `calls`"));
  EXPECT_THAT(wrong(R"({"calls": [["nothing", "%x"]]})"), HasSubstr("nothing"));
  EXPECT_THAT(wrong(R"({"calls": [["cumsum", "%x", "@"]]})"), HasSubstr("that an id has room for"));
  EXPECT_THAT(wrong(R"({"operators": {"takes": ["dim"]}, "given": {"a b": 1}})"),
              HasSubstr("unknown type"));
}

TEST(Sweep, StandsAmongStepsOfTheFile) {
  Diagnostics diagnostics;
  std::vector<CaseFile> suite = {class_file(
      R"("sweep": {"operators": {"takes": ["int dim", "!index"]}, "given": {"self": "%h", "dim": 1}},
         "steps": [{"let": "h", "op": "gather", "args": ["%x", 1, "%i"]}, {"let": "y", "op": "$op"},
                   {"let": "z", "op": "gather", "args": ["%y", 1, "%i"]}],
         "outputs": ["y", "z"])",
      diagnostics)};
  expand_sweeps(suite, &classes());
  ASSERT_THAT(diagnostics, IsEmpty()) << diagnostics[0].message;
  suite[0].choices.pop_back();  // unbind returns a list, which gather does not take
  const std::vector<Case> cases = decoded(suite[0], &classes(), diagnostics);
  ASSERT_THAT(diagnostics, IsEmpty()) << diagnostics[0].message;
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_THAT(cases[2].operators, ElementsAre("aten::gather.default", "aten::max.dim"));
  EXPECT_THAT(cases[2].program.inputs, ElementsAre("x", "i"));
  Diagnostics two;
  const CaseFile without = class_file(
      R"("sweep": {"operators": {"takes": ["dim"]}, "given": {"self": "%x", "dim": 1}},
         "steps": [{"let": "z", "op": "cumsum", "args": ["%x", 1]}], "outputs": ["z"])",
      two);
  decoded(without, nullptr, two);
  ASSERT_FALSE(two.empty());
  EXPECT_THAT(two[0].message, HasSubstr("0 steps that call `$op`"));
}

TEST(Sweep, OfATagThatAnotherTorchLacksIsUnsupportedInARun) {
  Diagnostics diagnostics;
  const CaseFile file = file_of(R"("sweep": {"operators": {"tag": "of_the_future"}})", diagnostics);
  std::vector<std::string> unknown;
  const Json root = substitute(file.file.root, file.choices[0], "cpu", unknown);
  const auto declared =
      decode_case(file.file, root, file.id, {&declared_operators(), "cpu", true}, diagnostics);
  ASSERT_TRUE(declared);
  EXPECT_EQ(declared->lacking, "operators that a sweep of the tag of_the_future takes");
}

TEST(Sweep, OfTooManyChoicesIsRefused) {
  Json numbers = Json::array();
  for (int i = 0; i < 101; ++i) numbers.push_back(i);
  Diagnostics diagnostics;
  const Json root = {{"matrix", {{"n", numbers}}}, {"sweep", Json::object()}};
  parse_case_file({"cases/t.json", root.dump(), {}}, diagnostics);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_THAT(diagnostics[0].message, HasSubstr("found a matrix of 101 choices beside `sweep`"));
}

}  // namespace
}  // namespace lockstep
