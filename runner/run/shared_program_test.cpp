#include "run/shared_program.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

InputSet member(const std::optional<Backward>& backward = {}) {
  InputSet set;
  set.storages = Json::parse(R"([{"file": "a", "bytes": 4}, {"file": "b", "bytes": 4}])");
  set.calls = Json::parse(R"([{"inputs": {"x": {"storage": 0, "dtype": "float32"}, "n": 3}}])");
  const Json program = Json::parse(R"({
    "inputs": ["x", "n"],
    "steps": [
      {"let": ["t"], "tensor": {"storage": 1, "dtype": "float32"}},
      {"let": ["a", null], "op": "aten::frexp.Tensor", "args": [{"ref": "x"}], "kwargs": {"k": [{"ref": "t"}]}},
      {"with": {"grad": false}, "steps": [{"let": ["b"], "get": {"ref": "a"}, "index": [{"slice": [null, {"ref": "n"}, null]}]}]}],
    "outputs": ["b", "x"], "context": {"grad": true}})");
  set.program = *program_from_json(program, set.literals);
  set.program.backward = backward;
  return set;
}

TEST(SharedProgram, ProgramsKeepTheirNamesAndStoragesApart) {
  const InputSet one = member(), two = member();
  const InputSet joint = join({&one, &two}).value();
  const Json program = joint.wire_program();
  const auto text = [](const Json& json) { return json.dump(); };
  EXPECT_EQ(text(program["inputs"]), R"(["m0_x","m0_n","m1_x","m1_n"])");
  EXPECT_EQ(text(program["outputs"]), R"(["m0_b","m0_x","m1_b","m1_x"])");
  EXPECT_EQ(text(program["context"]), R"({"grad":true})");
  EXPECT_TRUE(program["backward"].is_null());
  ASSERT_EQ(program["steps"].size(), 6U);
  EXPECT_EQ(text(program["steps"][3]),
            R"({"let":["m1_t"],"tensor":{"storage":3,"dtype":"float32"}})");
  EXPECT_EQ(text(program["steps"][4]),
            R"({"let":["m1_a",null],"op":"aten::frexp.Tensor","args":[{"ref":"m1_x"}],)"
            R"("kwargs":{"k":[{"ref":"m1_t"}]}})");
  EXPECT_EQ(
      text(program["steps"][5]["steps"]),
      R"([{"let":["m1_b"],"get":{"ref":"m1_a"},"index":[{"slice":[null,{"ref":"m1_n"},null]}]}])");
  ASSERT_EQ(joint.calls.size(), 1U);
  EXPECT_EQ(text(joint.calls[0]["inputs"]["m1_x"]), R"({"storage":2,"dtype":"float32"})");
  EXPECT_EQ(joint.calls[0]["inputs"]["m1_n"], 3);
  EXPECT_EQ(joint.storages.size(), 4U);
}

/// What an argument is called says nothing of what it is.
TEST(SharedProgram, ArgumentsMayBeCalledAsTheWireCallsItsOwn) {
  InputSet set = member();
  const Json program = Json::parse(R"({"inputs": ["x", "n"], "steps": [
      {"let": ["y"], "call": "torch.f", "args": [],
       "kwargs": {"ref": 1, "storage": 2, "let": [{"str": "x"}], "with": {"ref": "x"}, "steps": [{"str": "n"}]}}],
    "outputs": ["y"], "context": {}, "backward": null})");
  set.program = *program_from_json(program, set.literals);
  EXPECT_EQ(
      join({&set, &set})->wire_program()["steps"][1]["kwargs"].dump(),
      R"({"ref":1,"storage":2,"let":[{"str":"x"}],"with":{"ref":"m1_x"},"steps":[{"str":"n"}]})");
}

TEST(SharedProgram, BackwardsBecomeOne) {
  const InputSet ones = member(Backward{std::vector<std::string>{"b"}, std::nullopt});
  EXPECT_EQ(join({&ones, &ones})->wire_program()["backward"].dump(),
            R"({"of":["m0_b","m1_b"],"with":"ones"})");
  const InputSet named =
      member(Backward{std::vector<std::string>{"b"}, std::vector<std::string>{"x"}});
  EXPECT_EQ(join({&named, &named})->wire_program()["backward"].dump(),
            R"({"of":["m0_b","m1_b"],"with":["m0_x","m1_x"]})");
}

TEST(SharedProgram, WhatDoesNotFitIsNotJoined) {
  const InputSet plain = member();
  const InputSet differentiated = member(Backward{std::vector<std::string>{"b"}, std::nullopt});
  EXPECT_FALSE(join({&plain, &differentiated}));
}

TEST(SharedProgram, APartHasWhatIsItsOwn) {
  Observation joined;
  joined.outcome = Outcome::returned;
  TensorView same;
  same.is = "m1_x";
  CallResult call;
  call.outputs = {{"m0_y", ScalarValue(std::int64_t{1})},
                  {"m1_y", ScalarValue(std::int64_t{2})},
                  {"m1_x", same},
                  {"m10_y", ScalarValue(std::int64_t{3})}};
  call.inputs = {{"m0_x", ScalarValue(0.5)}, {"m1_x", ScalarValue(1.5)}};
  call.grads = {{"m1_x", ScalarValue(2.5)}};
  call.state.versions = {{"m0_x", "m1_x"}};
  call.state.kept = {{"m10_y"}};
  call.warnings = {{"UserWarning: whose?"}};
  joined.repetitions = {{call}, {call}};
  joined.phases = {{"compile", 8}};
  joined.reference = std::make_shared<Observation>(joined);
  const Observation part = part_of(joined, 1, 4);
  ASSERT_EQ(part.repetitions.size(), 2U);
  for (const Observation* each : {&part, part.reference.get()}) {
    const CallResult& own = each->repetitions[1][0];
    ASSERT_EQ(own.outputs.size(), 2U);
    EXPECT_EQ(own.outputs[0].first, "y");
    EXPECT_EQ(std::get<std::int64_t>(std::get<ScalarValue>(own.outputs[0].second)), 2);
    EXPECT_EQ(std::get<TensorView>(own.outputs[1].second).is, "x");
    ASSERT_EQ(own.inputs.size(), 1U);
    EXPECT_EQ(own.inputs[0].first, "x");
    EXPECT_EQ(own.grads.size(), 1U);
    EXPECT_EQ(own.state.versions, std::vector<std::string>{"x"});
    EXPECT_EQ(own.state.kept, std::vector<std::string>());
    EXPECT_FALSE(own.warnings);
    EXPECT_EQ(each->phases.at("compile"), 2);
  }
}

}  // namespace
}  // namespace lockstep
