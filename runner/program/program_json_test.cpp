#include "program/program_json.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

/// One of each kind of step, of value, of index item.
const char* const kEverything =
    R"({"inputs":["x","n"],"constants":["x"],"steps":[)"
    R"({"let":["t"],"tensor":{"storage":3,"dtype":"float32"}},)"
    R"({"let":["a",null],"op":"aten::frexp.Tensor","args":[{"ref":"x"},null,true,-3,18446744073709551615],)"
    R"("kwargs":{"ref":{"ref":"t"},"f":{"float":"-0x0p+0"},"let":[{"str":"x"},[]],"storage":1}},)"
    R"({"let":["b"],"call":"torch.f","args":[{"complex":["0x1p+0","-inf"]},{"dtype":"float16"},)"
    R"({"device":"cuda:1"},{"layout":"strided"},{"memory_format":"channels_last"}],"kwargs":{},)"
    R"("not_lowered":"it draws random numbers"},)"
    R"({"let":["c"],"get":{"ref":"b"},"index":[{"ellipsis":true},{"newaxis":true},)"
    R"({"slice":[null,{"ref":"n"},2]},true,[0,2],{"ref":"t"}]},)"
    R"({"let":[],"set":{"ref":"c"},"index":[0],"to":{"float":"nan"}},)"
    R"({"let":["q"],"scalar":["max",{"ref":"n"},2,{"float":"0x1.8p+1"}]},)"
    R"({"let":["g"],"grad":{"of":[{"ref":"c"}],"wrt":[{"ref":"x"}],"with":null,"create_graph":true}},)"
    R"({"let":["h"],"grad":{"of":[{"ref":"g"}],"wrt":[{"ref":"x"}],"with":[{"ref":"t"}],"create_graph":false}},)"
    R"({"with":{"grad":false,"inference":true,"deterministic_algorithms":true,)"
    R"("autocast":{"device":"cpu","dtype":"bfloat16","enabled":false},"default_dtype":"float64","compiled":false},"steps":[)"
    R"({"with":{},"steps":[{"let":["u"],"tensor":{"storage":4,"dtype":"int8"}}]}]}],)"
    R"("outputs":["h",null,"u",{"float":"0x1p-1"},"h",3,true],"context":{"grad":true,"thread":true},)"
    R"("backward":{"of":["h"],"with":["x"]},"carry":{"n":"n"}})";

TEST(ProgramJson, IsReadAndWrittenWithoutLoss) {
  Json literals = Json::array();
  const auto program = program_from_json(Json::parse(kEverything), literals);
  ASSERT_TRUE(program) << to_string(program.error());
  EXPECT_EQ(literals.dump(), R"([{"storage":3,"dtype":"float32"},{"storage":4,"dtype":"int8"}])");
  EXPECT_EQ(program_to_json(*program, literals).dump(), kEverything);
  Json again = Json::array();
  EXPECT_EQ(*program_from_json(program_to_json(*program, literals), again), *program);
  EXPECT_EQ(again, literals);
}

/// What is executed, and every digest of it, is the same wherever the program was written.
TEST(ProgramJson, NoWorkerIsToldWhereAStepComesFrom) {
  Program program;
  program.inputs = {"n"};
  program.steps = {{{"y"}, ScalarCall{"abs", {{Ref{"n"}}}}}};
  const std::string without = program_to_json(program, Json::array()).dump();
  program.steps[0].source = SourceLine{"net.py", 8, "Net.forward"};
  EXPECT_EQ(program_to_json(program, Json::array()).dump(), without);
}

TEST(ProgramJson, WhatMayBeLeftOutHasItsDefault) {
  Json literals = Json::array();
  const auto program = program_from_json(
      Json::parse(R"({"inputs": ["x"], "steps": [{"op": "aten::f.default", "unknown": 1},
          {"let": ["g"], "grad": {"of": [{"ref": "x"}], "wrt": [{"ref": "x"}]}}], "outputs": [], "backward": {"of": ["x"]}})"),
      literals);
  ASSERT_TRUE(program) << to_string(program.error());
  EXPECT_EQ(
      program_to_json(*program, literals).dump(),
      R"({"inputs":["x"],"steps":[{"let":[],"op":"aten::f.default","args":[],"kwargs":{}},)"
      R"({"let":["g"],"grad":{"of":[{"ref":"x"}],"wrt":[{"ref":"x"}],"with":null,"create_graph":false}}],)"
      R"("outputs":[],"context":{},"backward":{"of":["x"],"with":"ones"}})");
}

TEST(ProgramJson, EqualityIsThatOfTheWire) {
  const auto value = [](const char* text) { return *value_from_json(Json::parse(text)); };
  EXPECT_EQ(value(R"({"float": "nan"})"), value(R"({"float": "nan"})"));
  EXPECT_NE(value(R"({"float": "0x0p+0"})"), value(R"({"float": "-0x0p+0"})"));
  EXPECT_NE(value(R"({"float": "0x1p+0"})"), value("1"));
  EXPECT_NE(value("1"), value("true"));
  EXPECT_NE(value(R"({"str": "x"})"), value(R"({"ref": "x"})"));
  EXPECT_NE(value(R"({"layout": "x"})"), value(R"({"device": "x"})"));
  EXPECT_EQ(value("3"), Value{3});
}

TEST(ProgramJson, FloatsAreC99Hexadecimal) {
  for (const char* text : {"0x1.8p+1", "-0x0.0000000000001p-1022", "0x0p+0", "inf", "-inf", "nan",
                           "0x1.999999999999ap-4"}) {
    const auto value = value_from_json({{"float", text}});
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(float_text(std::get<Float>(value->is).value), text);
  }
  for (const char* text :
       {"", "0.5", "1", "0x", "0x1p+0 ", " 0x1p+0", "-nan", "Infinity", "nan(1)"})
    EXPECT_FALSE(value_from_json({{"float", text}})) << text;
}

/// Each with the place of the fault and a part of the message.
TEST(ProgramJson, RefusesWithThePlace) {
  struct Refused {
    const char* steps;
    const char* pointer;
    const char* message;
  };
  const std::string deep = R"([{"let": ["y"], "call": "torch.f", "args": )" + std::string(70, '[') +
                           std::string(70, ']') + "}]";
  std::string blocks = "[]";
  for (int i = 0; i < 70; ++i) blocks = R"([{"with": {}, "steps": )" + blocks + "}]";
  const std::vector<Refused> refused = {
      {R"(3)", "/steps", "the number 3"},
      {R"([3])", "/steps/0", "expected a step"},
      {R"([{"let": ["y"]}])", "/steps/0", "`op`, `call`, `tensor`"},
      {R"([{"let": ["9"], "op": "f"}])", "/steps/0/let/0", "expected a name"},
      {R"([{"op": "f", "args": {}}])", "/steps/0/args", "expected a list"},
      {R"([{"op": "f", "args": [1, 0.5]}])", "/steps/0/args/1", "expected a value"},
      {R"([{"op": "f", "args": [{"what": 1}]}])", "/steps/0/args/0", "expected a value"},
      {R"([{"op": "f", "args": [{"ref": "x", "str": "x"}]}])", "/steps/0/args/0", "one key"},
      {R"([{"op": "f", "kwargs": {"k": [{"float": "0.5"}]}}])", "/steps/0/kwargs/k/0/float", "C99"},
      {R"([{"op": "f", "kwargs": {"a/b": 1}}])", "/steps/0/kwargs/a~1b", "expected a name"},
      {R"([{"op": "f", "args": [{"complex": ["0x1p+0"]}]}])", "/steps/0/args/0/complex",
       "imaginary"},
      {R"([{"get": {"ref": "x"}}])", "/steps/0", "the key `index` is missing"},
      {R"([{"get": {"ref": "x"}, "index": [{"slice": [1]}]}])", "/steps/0/index/0/slice", "stop"},
      {R"([{"set": {"ref": "x"}, "index": []}])", "/steps/0", "the key `to` is missing"},
      {R"([{"scalar": []}])", "/steps/0/scalar", "operands"},
      {R"([{"grad": {"of": []}}])", "/steps/0/grad", "the key `wrt` is missing"},
      {R"([{"tensor": 1}])", "/steps/0/tensor", "expected a view"},
      {R"([{"with": {"grad": 1}, "steps": []}])", "/steps/0/with/grad", "expected true or false"},
      {R"([{"with": {"thread": true}, "steps": []}])", "/steps/0/with/thread", "of their call"},
      {R"([{"with": {}, "steps": [{"with": {}}]}])", "/steps/0/steps/0", "the key `steps`"},
      {deep.c_str(), "", "more than 64 levels"},
      {blocks.c_str(), "", "more than 64 levels"},
  };
  for (const Refused& each : refused) {
    Json literals = Json::array();
    const auto program = program_from_json(
        {{"inputs", {"x"}}, {"steps", Json::parse(each.steps)}, {"outputs", Json::array()}},
        literals);
    ASSERT_FALSE(program) << each.steps;
    if (*each.pointer != '\0') {
      EXPECT_EQ(program.error().pointer, each.pointer);
    }
    EXPECT_NE(program.error().message.find(each.message), std::string::npos)
        << to_string(program.error());
    EXPECT_FALSE(program.error().unknown);
  }
}

TEST(ProgramJson, RefusesOutputsAndCarriesWithThePlace) {
  const auto fault = [](const char* rest) {
    Json literals = Json::array();
    const auto program = program_from_json(
        Json::parse(R"({"inputs": ["x"], "steps": [], )" + std::string(rest) + "}"), literals);
    return program ? "" : program.error().pointer;
  };
  EXPECT_EQ(fault(R"("outputs": ["x", null, 3], "carry": {"x": "x"})"), "");
  EXPECT_EQ(fault(R"("outputs": ["x", [1]])"), "/outputs/1");
  EXPECT_EQ(fault(R"("outputs": [{"ref": "x"}])"), "/outputs/0");
  EXPECT_EQ(fault(R"x("outputs": ["x(2)"])x"), "/outputs/0");
  EXPECT_EQ(fault(R"("outputs": [], "carry": {"x": "y"})"), "/carry");
  EXPECT_EQ(fault(R"("outputs": [], "carry": {"y": "x"})"), "/carry");
  EXPECT_EQ(fault(R"("outputs": [], "carry": ["x"])"), "/carry");
}

TEST(ProgramJson, AContextOfAnotherVersionIsUnknownAndNotWrong) {
  Json literals = Json::array();
  const auto program = program_from_json(
      Json::parse(R"({"inputs": [], "steps": [], "outputs": [], "context": {"tracing": true}})"),
      literals);
  ASSERT_FALSE(program);
  EXPECT_TRUE(program.error().unknown);
  EXPECT_EQ(to_string(program.error()), "/context/tracing: context tracing");
}

}  // namespace
}  // namespace lockstep
