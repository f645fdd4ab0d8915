#include "cases/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "cases/suite.h"
#include "cases/testdata/registry.h"
#include "plan/names.h"
#include "program/program_json.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

const fs::path kSource = LOCKSTEP_SOURCE_DIR;

void decode(const CaseFile& file, const MatrixChoice& choice, const Registry* operators,
            Diagnostics& diagnostics) {
  std::vector<std::string> unknown;
  decode_case(file.file, substitute(file.file.root, choice, "cpu", unknown), file.id,
              {operators, "cpu", false}, diagnostics);
}

std::string faults_of(const fs::path& path, const Registry* operators) {
  Diagnostics diagnostics;
  const CaseFile file =
      read_case_file(path, path.lexically_relative(kSource).generic_string(), diagnostics);
  for (const MatrixChoice& choice : file.choices) {
    if (!diagnostics.empty() && &choice == &file.choices.front())
      break;  // as the suite does: the file is left out
    decode(file, choice, operators, diagnostics);
  }
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
                     return std::pair(a.line, a.column) < std::pair(b.line, b.column);
                   });
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += to_string(diagnostic) + "\n";
  return text;
}

/// Every file that must be refused has beside it what must be said of it; LOCKSTEP_RENEW=1 writes
/// that anew.
TEST(Decode, RefusesEveryInvalidFileWithItsMessage) {
  const bool renew = std::getenv("LOCKSTEP_RENEW") != nullptr;
  ASSERT_FALSE(renew && std::getenv("CI") != nullptr) << "messages are not renewed in CI";
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "cases/invalid")) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    const std::string said = faults_of(entry.path(), &dumped_operators());
    EXPECT_NE(said, "") << entry.path() << " is not refused";
    fs::path beside = entry.path();
    beside.replace_extension(".txt");
    if (renew) {
      ASSERT_TRUE(write_file(beside, said));
    }
    EXPECT_EQ(read_file(beside).value_or("(none)"), said) << entry.path();
  }
  EXPECT_GT(files, 40);
}

/// What is wrong in structure is found without a dump of the operators, too.
TEST(Decode, KnowsTheStructureWithoutARegistry) {
  for (const auto& entry : fs::directory_iterator(kSource / "cases/invalid/structure")) {
    if (entry.path().extension() == ".json") {
      EXPECT_NE(faults_of(entry.path(), nullptr), "") << entry.path();
    }
  }
}

/// Of what only a newer Lockstep can read, nothing else is looked at: not its format, keys or
/// matrix.
TEST(Decode, SkipsWhatNeedsANewerLockstep) {
  const std::string text =
      R"({"format": 7, "title": "t", "tags": ["a"], "matrix": {"device": 1}, "sweep": 3, "new": "$x",
          "only": {"paths": ["not-yet"]}, "requires": {"lockstep": ">=0.9", "more": 1}})";
  Diagnostics diagnostics;
  const CaseFile file = parse_case_file({"cases/newer.json", text, {}}, diagnostics);
  ASSERT_EQ(file.choices.size(), 1U);
  EXPECT_EQ(file.choices[0].suffix, "");
  EXPECT_FALSE(is_sweep(file));
  check_names(file, valid_names({}), diagnostics);
  const auto decoded = decode_case(file.file, file.file.root, file.id,
                                   {&dumped_operators(), "cpu", false}, diagnostics);
  EXPECT_THAT(diagnostics, testing::IsEmpty());
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->newer_lockstep, ">=0.9");
  EXPECT_EQ(decoded->title, "t");
  EXPECT_THAT(decoded->tags, testing::ElementsAre("a"));
  // Where it is met, the rest is read, and wrong.
  EXPECT_EQ(newer_lockstep(file.file.root, "0.9.1"), "");
  EXPECT_EQ(newer_lockstep(file.file.root, "0.10"), "");
  EXPECT_EQ(newer_lockstep(file.file.root, "0.8.9"), ">=0.9");
  EXPECT_EQ(newer_lockstep(Json::parse(R"({"requires": {"lockstep": "0.9"}})"), "0.1"), "");
  EXPECT_EQ(newer_lockstep(Json::parse(R"({"requires": 1})"), "0.1"), "");
}

/// What an input has without the changes of a call is said once, where the input is.
TEST(Decode, SaysAtACallOnlyWhatTheCallHasMadeWrong) {
  const std::string text =
      R"({"format": 1, "title": "t", "inputs": {"x": {"dtype": "float23", "shape": [2], "fill": "arange"}},
          "calls": [{}, {"x": {"shape": [3]}}, {"x": {"dtype": "float32", "shape": [-3]}}],
          "steps": [{"let": "y", "op": "relu", "args": ["%x"]}], "outputs": ["y"]})";
  Diagnostics diagnostics;
  const CaseFile file = parse_case_file({"cases/calls.json", text, {}}, diagnostics);
  decode_case(file.file, file.file.root, file.id, {nullptr, "cpu", false}, diagnostics);
  std::vector<std::string> places;
  for (const Diagnostic& diagnostic : diagnostics) places.push_back(diagnostic.pointer);
  EXPECT_THAT(places, testing::ElementsAre("/inputs/x/dtype", "/calls/2/x/shape/0"));
}

/// Elements come from one source: a call that names one replaces the other.
TEST(Decode, LetsAnInputBeItsOwnAndAViewByTurns) {
  const fs::path path = kSource / "cases/format/views-by-turns.json";
  Diagnostics diagnostics;
  const CaseFile file = read_case_file(path, "cases/format/views-by-turns.json", diagnostics);
  const auto decoded =
      decode_case(file.file, file.file.root, file.id, {nullptr, "cpu", false}, diagnostics);
  ASSERT_TRUE(decoded) << to_string(diagnostics.at(0));
  std::vector<std::string> bases;
  for (const CallSpec& call : decoded->calls)
    bases.push_back(std::get<TensorSpec>(call.inputs.at(1).value).view_of);
  EXPECT_THAT(bases, testing::ElementsAre("", "x", ""));
  const auto& last = std::get<TensorSpec>(decoded->calls[2].inputs[1].value);
  EXPECT_TRUE(std::holds_alternative<LiteralFill>(last.fill));
}

// Faults that no single file of cases/invalid can have.

TEST(Decode, RefusesAFileWhoseNameIsNoId) {
  Diagnostics diagnostics;
  const std::string text = *read_file(kSource / "cases/format/matrix.json");
  parse_case_file({"cases/format/a case.json", text, {}}, diagnostics);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(to_string(diagnostics[0]),
            "cases/format/a case.json: the name of a case file is its id: letters, digits, `_`, "
            "`.` and `-` only\n    rename the file");
}

TEST(Decode, RefusesANameThatACommandLineWouldTakeForAnOption) {
  const std::string text = *read_file(kSource / "cases/format/matrix.json");
  for (const std::string name : {"cases/-x.json", "cases/ops/-x.json", "cases/-ops/x.json"}) {
    Diagnostics diagnostics;
    parse_case_file({name, text, {}}, diagnostics);
    ASSERT_EQ(diagnostics.size(), 1U) << name;
    EXPECT_THAT(to_string(diagnostics[0]), testing::HasSubstr("begins with `-`"));
  }
  Diagnostics diagnostics;
  parse_case_file({"cases/a-b/c-.json", text, {}}, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
}

TEST(Decode, PrintsTheNameOfAFileInOneLine) {
  Diagnostics diagnostics;
  parse_case_file({"cases/a\nb\x1b[31m.json", "{}", {}}, diagnostics);
  read_case_file("no\nsuch.json", "no\nsuch.json", diagnostics);
  ASSERT_GE(diagnostics.size(), 2U);
  for (const Diagnostic& diagnostic : diagnostics) {
    const std::string text = to_string({diagnostic.file, 0, 0, "", diagnostic.message, ""});
    EXPECT_EQ(text.find_first_of("\n\x1b"), std::string::npos) << text;
  }
}

TEST(Decode, RefusesAFileOfMoreThanAMebibyte) {
  Diagnostics diagnostics;
  parse_case_file({"cases/t.json", std::string((1 << 20) + 1, ' '), {}}, diagnostics);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].message, "found a file of 1048577 bytes, expected at most 1048576");
}

TEST(Decode, RefusesAMatrixThatDecodesALargeFileTooOften) {
  Json numbers = Json::array();
  for (int i = 0; i < 100; ++i) numbers.push_back(i);
  Diagnostics diagnostics;
  const Json root = {{"matrix", {{"a", numbers}, {"b", numbers}}},
                     {"comment", std::string(100'000, 'c')}};
  const CaseFile file = parse_case_file({"cases/t.json", root.dump(), {}}, diagnostics);
  EXPECT_TRUE(file.choices.empty());
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_THAT(diagnostics[0].message, testing::HasSubstr("found a matrix of 10000 choices in"));
}

TEST(Decode, NamesAFileThatCannotBeRead) {
  Diagnostics diagnostics;
  read_case_file(kSource / "cases/no-such.json", "cases/no-such.json", diagnostics);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_THAT(to_string(diagnostics[0]), testing::HasSubstr("no-such.json"));
}

TEST(Decode, TellsOfTwoHundredFaultsAndThatThereAreMore) {
  Json links = Json::array();
  for (int i = 0; i < 1000; ++i) links.push_back("http://insecure");
  JsonFile file{"t.json", Json{{"format", 1}, {"links", links}}.dump(), {}};
  Diagnostics diagnostics;
  parse_json(file, diagnostics);
  decode_case(file, file.root, "t", {nullptr, "cpu", false}, diagnostics);
  ASSERT_EQ(diagnostics.size(), 200U);
  EXPECT_EQ(diagnostics.back().message, "more errors than are shown");
}

TEST(Decode, AcceptsEveryCaseOfTheSuiteInStructure) {
  Diagnostics diagnostics;
  const auto suite = read_suite(kSource, diagnostics);
  ASSERT_TRUE(suite);
  EXPECT_FALSE(suite->empty());
  for (const CaseFile& file : *suite) {
    // Of a large matrix some: `check` decodes all of them, and without sanitizers.
    const std::size_t every = file.choices.size() / 20 + 1;
    for (std::size_t i = 0; i < file.choices.size(); i += every)
      decode(file, file.choices[i], nullptr, diagnostics);
  }
  for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << to_string(diagnostic);
}

std::optional<Case> decode(const std::string& text, const DecodeContext& context,
                           Diagnostics& diagnostics) {
  JsonFile file{"t.json", text, {}};
  parse_json(file, diagnostics);
  return decode_case(file, file.root, "t", context, diagnostics);
}

/// A case of one step on a float tensor x, an index tensor i and an int n.
std::string with_step(const std::string& step, const std::string& outputs = "\"y\"") {
  return R"({"format": 1, "title": "t", "inputs": {"x": {"dtype": "float32", "shape": [4], "fill": "normal"},
             "i": {"dtype": "int64", "values": [0, 2]}, "n": {"int": 3}}, "steps": [)" +
         step + R"(], "outputs": ["x", "i", "n", )" + outputs + "]}";
}

Json step_of(const std::string& step, const std::string& outputs = "\"y\"") {
  Diagnostics diagnostics;
  const auto decoded =
      decode(with_step(step, outputs), {&dumped_operators(), "cpu", false}, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << to_string(diagnostic);
  return decoded ? program_to_json(decoded->program, Json::array())["steps"][0] : Json();
}

TEST(Decode, ResolvesOverloadsByTheirArguments) {
  const auto overload = [](const std::string& step) {
    return step_of(step)["op"].get<std::string>();
  };
  EXPECT_EQ(overload(R"({"let": "y", "op": "add", "args": ["%x", "%x"]})"), "aten::add.Tensor");
  EXPECT_EQ(overload(R"({"let": "y", "op": "add", "args": ["%x", 1]})"), "aten::add.Tensor");
  EXPECT_EQ(overload(R"({"let": "y", "op": "add.Scalar", "args": ["%x", 1]})"), "aten::add.Scalar");
  EXPECT_EQ(overload(R"({"let": "y", "op": "sum", "args": ["%x"]})"), "aten::sum.default");
  EXPECT_EQ(overload(R"({"let": "y", "op": "sum", "args": ["%x", [0]]})"), "aten::sum.dim_IntList");
  EXPECT_EQ(overload(R"({"let": "y", "op": "relu", "args": ["%x"]})"), "aten::relu.default");
  EXPECT_EQ(overload(R"({"let": "y", "op": "to", "args": ["%x", "float16"]})"), "aten::to.dtype");
  EXPECT_EQ(overload(R"({"let": "y", "op": "cat", "args": [["%x", "%x"]]})"), "aten::cat.default");
}

TEST(Decode, ScalarOperatorsTakeAsManyOperandsAsTheTableSays) {
  EXPECT_EQ(step_of(R"({"let": "y", "scalar": ["max", "%n", 2, 2.5]})").dump(),
            R"({"let":["y"],"scalar":["max",{"ref":"n"},2,{"float":"0x1.4p+1"}]})");
  const std::vector<std::pair<const char*, const char*>> refused = {
      {R"({"let": "y", "scalar": ["max", "%n"]})", "found 1 operands of `max`, expected 2 or more"},
      {R"({"let": "y", "scalar": ["neg", "%n", 2]})", "found 2 operands of `neg`, expected 1"}};
  for (const auto& [step, message] : refused) {
    Diagnostics diagnostics;
    EXPECT_FALSE(decode(with_step(step), {&dumped_operators(), "cpu", false}, diagnostics));
    ASSERT_EQ(diagnostics.size(), 1U) << step;
    EXPECT_EQ(diagnostics[0].message, message);
  }
}

TEST(Decode, TypesArgumentsByTheSchema) {
  EXPECT_EQ(step_of(R"({"let": "y", "op": "to.dtype", "args": ["%x", "float16"]})")["args"][1],
            (Json{{"dtype", "float16"}}));
  EXPECT_EQ(step_of(R"({"let": "y", "op": "mul.Tensor", "args": ["%x", 2]})")["args"][1], 2);
  EXPECT_EQ(step_of(R"({"let": "y", "op": "mul.Tensor", "args": ["%x", 2.0]})")["args"][1],
            (Json{{"float", "0x1p+1"}}));
  EXPECT_EQ(step_of(R"({"let": "y", "op": "mul.Tensor", "args": ["%x", "-inf"]})")["args"][1],
            (Json{{"float", "-inf"}}));
  EXPECT_EQ(step_of(R"({"let": "y", "op": "norm.Scalar", "args": ["%x", 0.1]})")["args"][1],
            (Json{{"float", "0x1.999999999999ap-4"}}));
  EXPECT_EQ(step_of(R"({"let": "y", "op": "sum.dim_IntList", "args": ["%x", 0]})")["args"][1], 0);
}

TEST(Decode, WhatIsAssignedOrComputedWithIsANumber) {
  const auto second = [](const std::string& step, Diagnostics& diagnostics) {
    const auto decoded = decode(with_step(R"({"let": "y", "op": "relu", "args": ["%x"]}, )" + step),
                                {&dumped_operators(), "cpu", false}, diagnostics);
    return decoded ? program_to_json(decoded->program, Json::array())["steps"][1] : Json();
  };
  const auto to = [&](const std::string& text) {
    Diagnostics diagnostics;
    return second(R"({"set": "%y[0]", "to": )" + text + "}", diagnostics)["to"].dump();
  };
  EXPECT_EQ(to(R"("-inf")"), R"({"float":"-inf"})");
  EXPECT_EQ(to(R"("nan")"), R"({"float":"nan"})");
  EXPECT_EQ(to("0"), "0");
  EXPECT_EQ(to(R"("%x")"), R"({"ref":"x"})");
  EXPECT_EQ(step_of(R"({"let": "y", "scalar": ["min", 1, "-inf", 3]})")["scalar"].dump(),
            R"(["min",1,{"float":"-inf"},3])");
  for (const char* step :
       {R"({"set": "%y[0]", "to": "ones"})", R"({"set": "%y[0]", "to": [1]})",
        R"({"set": "%y[0]", "to": null})", R"({"let": "z", "scalar": ["max", 1]})",
        R"({"let": "z", "scalar": ["add", 1, 2, 3]})"}) {
    Diagnostics diagnostics;
    second(step, diagnostics);
    EXPECT_THAT(diagnostics, testing::Contains(testing::Field(&Diagnostic::message,
                                                              testing::HasSubstr("expected"))))
        << step;
  }
}

TEST(Decode, AListOfOneTensorIsUnpacked) {
  Diagnostics diagnostics;
  const auto decoded = decode(with_step(R"({"let": ["y"], "op": "chunk", "args": ["%x", 1]})"),
                              {&dumped_operators(), "cpu", false}, diagnostics);
  ASSERT_TRUE(decoded && diagnostics.empty());
  const Json steps = program_to_json(decoded->program, Json::array()).at("steps");
  EXPECT_EQ(steps.at(0).at("let"), Json::array({"y_list"}));
  EXPECT_EQ(steps.at(1).dump(), R"({"let":["y"],"get":{"ref":"y_list"},"index":[0]})");
}

TEST(Decode, IndexTextIsTakenApart) {
  const auto index = [](const std::string& text) {
    return step_of("{\"let\": \"y\", \"get\": \"" + text + "\"}")["index"].dump();
  };
  EXPECT_EQ(index("%x[..., 0::2]"), R"([{"ellipsis":true},{"slice":[0,null,2]}])");
  EXPECT_EQ(index("%x[None, -1]"), R"([{"newaxis":true},-1])");
  EXPECT_EQ(index("%x[%i]"), R"([{"ref":"i"}])");
  EXPECT_EQ(index("%x[[0, 2], :%n, true]"), R"([[0,2],{"slice":[null,{"ref":"n"},null]},true])");
  EXPECT_EQ(index("%x[:]"), R"([{"slice":[null,null,null]}])");
}

TEST(Decode, WhatATorchLacksMakesACaseUnsupportedInARun) {
  Diagnostics diagnostics;
  const auto decoded = decode(with_step(R"({"let": "y", "op": "brand_new_op", "args": ["%x"]})"),
                              {&dumped_operators(), "cpu", true}, diagnostics);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->lacking, "the operator brand_new_op");
  EXPECT_TRUE(diagnostics.empty());
}

TEST(Decode, EveryOperatorThatReachesOutsideIsRefused) {
  // By the rule, not by a list: made-up operators with such arguments are refused as well.
  for (const char* argument :
       {R"({"name": "filename", "type": "str"})", R"({"name": "s", "type": "Storage"})",
        R"({"name": "stream", "type": "Stream"})", R"({"name": "library_path", "type": "str?"})"}) {
    const std::string text =
        R"({"torch": "2", "operators_digest": "f", "operators": {"aten::made_up": [{"overload": "", "arguments": [)" +
        std::string(argument) + "], \"returns\": []}]}}";
    const auto made_up = Registry::from_json(Json::parse(text));
    ASSERT_TRUE(made_up);
    const Operator* op = made_up->find("made_up");
    EXPECT_NE(refusal(*op, op->overloads[0]), "") << argument;
  }
  const Operator* relu = dumped_operators().find("relu");
  EXPECT_EQ(refusal(*relu, relu->overloads[0]), "");
}

TEST(Decode, HeaderFlagsAreOffUnlessTheCaseSaysSo) {
  Diagnostics diagnostics;
  const std::string rest =
      R"("inputs": {"x": {"dtype": "float32", "shape": [4], "fill": "normal"}},
      "steps": [{"let": "y", "op": "relu", "args": ["%x"]}], "outputs": ["y"]})";
  const auto none = decode(R"({"format": 1, "title": "t", )" + rest,
                           {&dumped_operators(), "cpu", false}, diagnostics);
  const auto all = decode(R"({"format": 1, "title": "t", "share": true, "pointwise": true,
                              "requires": {"eager": "returns"}, )" +
                              rest,
                          {&dumped_operators(), "cpu", false}, diagnostics);
  ASSERT_TRUE(none && all);
  EXPECT_FALSE(none->share || none->pointwise || none->eager_must_return);
  EXPECT_TRUE(all->share && all->pointwise && all->eager_must_return);
  EXPECT_EQ(all->requires_torch, "");
}

TEST(Versions, AreComparedByTheirNumbers) {
  EXPECT_TRUE(version_matches("2.13.0+cpu", ">=2.13"));
  EXPECT_TRUE(version_matches("2.13.0+cpu", "==2.13"));
  EXPECT_TRUE(version_matches("2.15.0a0+git1", ">=2.14,<2.16"));
  EXPECT_TRUE(version_matches("2.16.0.dev20261120+git0123abc", ">=2.16,<2.17"));
  EXPECT_FALSE(version_matches("2.16.0.dev20261120+git0123abc", "<2.16"));
  EXPECT_FALSE(version_matches("2.9.1", ">=2.13"));
  EXPECT_FALSE(version_matches("2.15.0", "<2.15"));
  EXPECT_TRUE(version_matches("2.15.0", ""));
  EXPECT_FALSE(valid_range("2.14"));
  EXPECT_FALSE(valid_range(">=2.14 or so"));
  EXPECT_TRUE(valid_range(">=2.12, <2.14"));
}

}  // namespace
}  // namespace lockstep
