#include "program/edit.h"

#include <gtest/gtest.h>

#include "program/program_json.h"

namespace lockstep {
namespace {

using Names = std::vector<std::string>;

Program program_of(const std::string& steps, const std::string& rest = R"("outputs": ["y"])") {
  Json literals = Json::array();
  return *program_from_json(
      Json::parse(R"({"inputs": ["x", "n"], "steps": )" + steps + ", " + rest + "}"), literals);
}

std::string steps_of(const Program& program) {
  const Json views = {{{"storage", 0}}, {{"storage", 1}}, {{"storage", 2}}, {{"storage", 3}}};
  return program_to_json(program, views)["steps"].dump();
}

/// h = f(x, k=[n]); with: i = h[n:]; y = g(h)
const char* const kThree =
    R"([{"let":["h"],"op":"aten::f.default","args":[{"ref":"x"}],"kwargs":{"h":[{"ref":"n"}]}},)"
    R"({"with":{"grad":false},"steps":[{"let":["i"],"get":{"ref":"h"},"index":[{"slice":[{"ref":"n"},null,null]}]}]},)"
    R"({"let":["y"],"op":"aten::g.default","args":[{"ref":"h"}],"kwargs":{}}])";

TEST(Edit, RenamesDefinitionsAndEveryUse) {
  Program program =
      program_of(kThree, R"("outputs": ["y", "h"], "backward": {"of": ["y"], "with": ["x"]})");
  ASSERT_TRUE(rename(program, {{"h", "x"}, {"x", "h"}, {"y", "out"}}));
  EXPECT_EQ(
      steps_of(program),
      R"([{"let":["x"],"op":"aten::f.default","args":[{"ref":"h"}],"kwargs":{"h":[{"ref":"n"}]}},)"
      R"({"with":{"grad":false},"steps":[{"let":["i"],"get":{"ref":"x"},"index":[{"slice":[{"ref":"n"},null,null]}]}]},)"
      R"({"let":["out"],"op":"aten::g.default","args":[{"ref":"x"}],"kwargs":{}}])");
  EXPECT_EQ(program.inputs, (std::vector<std::string>{"h", "n"}));
  EXPECT_EQ(output_names(program), (std::vector<std::string>{"out", "x"}));
  EXPECT_EQ(program.backward, (Backward{Names{"out"}, Names{"h"}}));
}

TEST(Edit, RefusesNamesThatMeet) {
  const Program before = program_of(kThree);
  Program program = before;
  EXPECT_EQ(rename(program, {{"h", "x"}}).error().message, "two would have the name `x`");
  EXPECT_EQ(rename(program, {{"h", "a"}, {"y", "a"}}).error().message,
            "two would have the name `a`");
  EXPECT_EQ(rename(program, {{"z", "a"}}).error().message, "there is no name `z`");
  EXPECT_EQ(rename(program, {{"h", "9"}}).error().message, "found `9`, expected a name");
  EXPECT_EQ(program, before);
}

TEST(Edit, DropsWhatNobodyNeeds) {
  Program program = program_of(kThree);
  const auto refused = drop(program, {0});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "`h` is used, and nothing before defines it");
  EXPECT_EQ(program, program_of(kThree));
  ASSERT_TRUE(drop(program, {1, 0}));
  EXPECT_EQ(std::get<WithBlock>(program.steps[1].does).steps.size(), 0U);
  ASSERT_TRUE(drop(program, {1}));
  EXPECT_EQ(program.steps.size(), 2U);
  EXPECT_FALSE(drop(program, {1}));  // an output
  for (const StepPlace& nowhere : {StepPlace{}, StepPlace{2}, StepPlace{0, 0}})
    EXPECT_FALSE(drop(program, nowhere));
  Program seeded =
      program_of(R"([{"let":["y"],"scalar":["neg",1]},{"let":["z"],"scalar":["neg",2]}])",
                 R"("outputs": ["y"], "backward": {"of": ["z"]})");
  EXPECT_FALSE(drop(seeded, {1}));
}

TEST(Edit, ReplacesAStepByOthers) {
  Program program = program_of(kThree);
  const Program other = program_of(
      R"([{"let":["s"],"scalar":["neg",{"ref":"n"}]},{"let":["h"],"op":"aten::k.default","args":[{"ref":"s"}]}])",
      R"("outputs": ["h"])");
  ASSERT_TRUE(replace(program, {0}, other.steps));
  EXPECT_EQ(program.steps.size(), 4U);
  EXPECT_EQ(program.steps[1], other.steps[1]);
  EXPECT_EQ(replace(program, {3}, {other.steps[1], program.steps[3]}).error().message,
            "`h` is defined for the second time");
  EXPECT_FALSE(replace(program, {0}, {program.steps[3]}));  // `h` before it is there
}

TEST(Edit, SubstitutesUsesAndNothingElse) {
  Program program = program_of(
      R"([{"let":["y"],"op":"aten::f.default","args":[{"ref":"n"},[{"ref":"n"},{"str":"n"}]],"kwargs":{"n":{"ref":"n"}}},)"
      R"({"set":{"ref":"y"},"index":[{"ref":"n"}],"to":{"ref":"n"}}])",
      R"("outputs": ["y", "n"])");
  const Value list{Value::List{{Ref{"n"}}, {2}}};
  EXPECT_EQ(substitute(program, "n", list), 5U);
  EXPECT_EQ(
      steps_of(program),
      R"([{"let":["y"],"op":"aten::f.default","args":[[{"ref":"n"},2],[[{"ref":"n"},2],{"str":"n"}]],"kwargs":{"n":[{"ref":"n"},2]}},)"
      R"({"let":[],"set":{"ref":"y"},"index":[[{"ref":"n"},2]],"to":[{"ref":"n"},2]}])");
  EXPECT_EQ(output_names(program), (std::vector<std::string>{"y", "n"}));
}

TEST(Edit, OutputsAndWhatIsCarriedAreUses) {
  Program program =
      program_of(kThree, R"("outputs": ["y", 3, "y"], "carry": {"x": "y", "n": "n"})");
  EXPECT_FALSE(drop(program, {2})) << "y is returned";
  ASSERT_TRUE(rename(program, {{"y", "z"}, {"x", "w"}}));
  EXPECT_EQ(output_names(program), (Names{"z", "output-2", "z(2)"}));
  EXPECT_EQ(program.carry.front(), (std::pair<std::string, std::string>{"w", "z"}));
  program.outputs = returning({"h"});
  prune_carry(program);
  ASSERT_EQ(program.carry.size(), 1U) << "z is not returned any more";
  EXPECT_EQ(program.carry.front().first, "n");
}

TEST(Edit, NamesOutputsByTheirPlaces) {
  Program program;
  program.outputs = {{Ref{"y"}}, {}, {Ref{"y"}}, {Ref{"x"}}, {true}, {Ref{"y"}}};
  EXPECT_EQ(output_names(program), (Names{"y", "output-2", "y(2)", "x", "output-5", "y(3)"}));
  EXPECT_EQ(returned_values(program), (Names{"y", "x"}));
  EXPECT_TRUE(returns_constants(program));
  EXPECT_EQ(value_of_output("y(3)"), "y");
  EXPECT_EQ(value_of_output("y"), "y");
  EXPECT_EQ(value_of_output("output-5"), "");
}

TEST(Edit, JoinsContexts) {
  Context outer, inner;
  outer.grad = false;
  outer.default_dtype = "float64";
  outer.compiled = false;
  outer.thread = true;
  inner.grad = true;
  inner.autocast = Autocast{"cpu", "bfloat16", false};
  const Context both = joined(outer, inner);
  EXPECT_EQ(both.grad, true);
  EXPECT_EQ(both.default_dtype, "float64");
  EXPECT_EQ(both.compiled, false);
  EXPECT_TRUE(both.thread);
  EXPECT_EQ(both.autocast, inner.autocast);
}

TEST(Edit, SplicesProgramsWithTheirLiterals) {
  const std::string steps =
      R"([{"let":["t"],"tensor":{"storage":0}},{"with":{},"steps":[{"let":["y"],"tensor":{"storage":1}}]}])";
  Program whole =
      program_of(steps, R"("outputs": ["y"], "backward": {"of": ["t"], "with": ["x"]})");
  Program part = whole;
  EXPECT_EQ(splice(whole, part, 2).error().message, "both programs define `n`");
  whole.constants = {"n"};
  part.constants = {"x"};
  add_prefix(part, "b_");
  ASSERT_TRUE(splice(whole, part, 2));
  EXPECT_EQ(whole.constants, (std::vector<std::string>{"n", "b_x"}));
  EXPECT_EQ(whole.inputs, (std::vector<std::string>{"x", "n", "b_x", "b_n"}));
  EXPECT_EQ(output_names(whole), (std::vector<std::string>{"y", "b_y"}));
  EXPECT_EQ(whole.backward, (Backward{Names{"t", "b_t"}, Names{"x", "b_x"}}));
  EXPECT_EQ(
      steps_of(whole),
      R"([{"let":["t"],"tensor":{"storage":0}},{"with":{},"steps":[{"let":["y"],"tensor":{"storage":1}}]},)"
      R"({"let":["b_t"],"tensor":{"storage":2}},{"with":{},"steps":[{"let":["b_y"],"tensor":{"storage":3}}]}])");
  EXPECT_TRUE(check_program(whole));
}

TEST(Edit, RefusesToSpliceWhatHoldsForTheWholeOfOne) {
  const Program plain = program_of("[]", R"("outputs": ["x"])");
  Program other = program_of("[]", R"("outputs": ["x"])");
  add_prefix(other, "b_");
  EXPECT_TRUE(can_splice(plain, other));
  const auto refused = [&](const auto& change) {
    Program whole = plain;
    Program part = other;
    change(part);
    return !splice(whole, part, 0) && whole == plain;
  };
  EXPECT_TRUE(refused([](Program& part) { part.context.grad = true; }));
  EXPECT_TRUE(refused([](Program& part) { part.backward = Backward{Names{"b_x"}, std::nullopt}; }));
  EXPECT_TRUE(refused([](Program& part) { part.outputs.push_back({3}); }));
  EXPECT_TRUE(refused([](Program& part) { part.carry = {{"b_x", "b_x"}}; }));
  Program ones = plain;
  ones.backward = Backward{Names{"x"}, std::nullopt};
  Program seeded = other;
  seeded.backward = Backward{Names{"b_x"}, Names{"b_x"}};
  EXPECT_FALSE(splice(ones, seeded, 0));
}

}  // namespace
}  // namespace lockstep
