#include "program/higher_order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "program/edit.h"
#include "program/print.h"
#include "program/program_json.h"
#include "program/visit.h"

namespace lockstep {
namespace {

/// x → y, by the steps of a list.
tl::expected<Program, ProgramFault> applied_program(const std::string& steps) {
  Json literals = Json::array();
  return program_from_json(
      Json::parse(R"({"inputs": ["x", "p"], "steps": )" + steps + R"(, "outputs": ["y"]})"),
      literals);
}

const char* const kCond =
    R"([{"let":["y"],"apply":"cond","args":[{"ref":"x"}],"kwargs":{"pred":{"ref":"p"}},)"
    R"("do":{"inputs":["a"],"steps":[{"let":["r"],"op":"aten::neg.default","args":[{"ref":"a"}],"kwargs":{}}],"outputs":["r"]},)"
    R"("else":{"inputs":["a"],"steps":[{"let":["r"],"op":"aten::mul.Tensor","args":[{"ref":"a"},{"ref":"x"}],"kwargs":{}}],"outputs":["r"]}}])";

/// The Python worker spells the same ones, with the same sub-programs.
TEST(HigherOrder, IsTheTableOfThePythonWorkerAndOfTheSchema) {
  const std::filesystem::path runner = std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "runner";
  const std::string python = *read_file(runner / "workers/compiled/lockstep_worker/applied.py");
  std::string roles = "ROLES = {\n";
  Json names = Json::array();
  for (const HigherOrder& each : higher_order()) {
    const auto all = each.programs();
    const std::string tuple = all.size() > 1 ? fmt::format("\"{}\", \"{}\"", all[0], all[1])
                                             : fmt::format("\"{}\",", all[0]);
    roles += fmt::format("    \"{}\": ({}),\n", each.name, tuple);
    names.push_back(each.name);
  }
  EXPECT_NE(python.find(roles + "}"), std::string::npos) << roles;
  const Json schema =
      Json::parse(*read_file(runner.parent_path() / "cases/schema/case.schema.json"));
  const Json& step = schema["$defs"]["step"]["oneOf"].back();
  EXPECT_EQ(step["properties"]["apply"]["anyOf"][1]["enum"], names);
}

TEST(HigherOrder, IsReadWrittenAndPrinted) {
  const auto program = applied_program(kCond);
  ASSERT_TRUE(program) << to_string(program.error());
  EXPECT_EQ(program_to_json(*program, Json::array())["steps"].dump(), kCond);
  EXPECT_EQ(print(*program, [](std::size_t) { return ""; }),
            "  y = cond(x, pred=p)\n"
            "    do (a):\n"
            "      r = aten::neg.default(a)\n"
            "      return r\n"
            "    else (a):\n"
            "      r = aten::mul.Tensor(a, x)\n"
            "      return r\n"
            "  return y\n");
}

TEST(HigherOrder, WhatASubProgramNamesIsKnownInItAlone) {
  Program program = *applied_program(kCond);
  EXPECT_TRUE(check_program(program));
  OuterNames names;
  walk(program.steps[0], names);
  EXPECT_EQ(names.used, (std::vector<std::string>{"x", "p", "x"}));
  EXPECT_EQ(names.defined, std::vector<std::string>{"y"});
  program.outputs = returning({"r"});
  EXPECT_FALSE(check_program(program));
  program = *applied_program(kCond);
  std::get<ApplyCall>(program.steps[0].does).programs[0].inputs[0] = "x";
  EXPECT_FALSE(check_program(program)) << "a name that is known outside";
  program = *applied_program(kCond);
  ASSERT_TRUE(rename(program, {{"a", "b"}, {"x", "a"}}));
  EXPECT_TRUE(check_program(program));
  EXPECT_EQ(std::get<ApplyCall>(program.steps[0].does).programs[1].inputs[0], "b");
}

TEST(HigherOrder, AStrangersCallIsRefusedWithItsPlace) {
  const auto said = [](std::string steps, std::string_view from, std::string_view to) {
    steps.replace(steps.find(from), from.size(), to);
    const auto program = applied_program(steps);
    return program ? "" : to_string(program.error());
  };
  EXPECT_EQ(said(kCond, "\"else\"", "\"other\""), "/steps/0: the key `else` is missing");
  EXPECT_EQ(said(kCond, "{\"pred\":{\"ref\":\"p\"}}", "{}"),
            "/steps/0: kwargs: `pred` of `cond` is missing");
  EXPECT_EQ(said(kCond, "[{\"ref\":\"x\"}]", "[1]"),
            "/steps/0: args: `cond` takes references, such as \"%x\"");
  EXPECT_EQ(said(kCond, "[\"a\"]", "[\"a\",\"b\"]"),
            "/steps/0: do/inputs: found 2 inputs, expected 1: one for each of `args`");
  EXPECT_EQ(said(kCond, "cond", "fold"),
            "/steps/0/apply: an operator `fold` that takes sub-programs");
}

TEST(HigherOrder, SaysHowManyResultsThereAre) {
  const auto results = [](const std::string& rest, std::size_t outputs) {
    std::string named, inputs;
    for (std::size_t i = 0; i < outputs; ++i) named += (i > 0 ? ",\"a\"" : "\"a\"");
    const auto program =
        applied_program(R"([{"let": ["y"], "args": [{"ref": "x"}], )" + rest +
                        R"(, "do": {"inputs": ["a"], "steps": [], "outputs": [)" + named + "]}}]");
    return program ? results_of(std::get<ApplyCall>(program->steps[0].does)) : 0;
  };
  EXPECT_EQ(results(R"("apply": "checkpoint")", 3), 3U);
  EXPECT_EQ(results(R"("apply": "vmap", "kwargs": {"out_dims": [0, 1]})", 2), 2U);
  EXPECT_EQ(results(R"("apply": "vmap", "kwargs": {"out_dims": [0, 1]})", 3), 0U) << "refused";
  EXPECT_EQ(results(R"("apply": "jvp", "kwargs": {"tangents": [{"ref": "x"}]})", 2), 4U);
  EXPECT_EQ(results(R"("apply": "grad")", 1), 1U);
  EXPECT_EQ(results(R"("apply": "grad")", 2), 0U) << "of one number alone";
  EXPECT_EQ(results(R"("apply": "while_loop", "kwargs": {"most": 4})", 1), 0U) << "no condition";
}

}  // namespace
}  // namespace lockstep
