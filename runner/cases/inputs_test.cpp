#include "cases/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "cases/decode.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

class InputFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("lockstep-inputs-" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Case decode(const std::string& rest) {
    Diagnostics diagnostics;
    JsonFile file{"t.json", R"({"format": 1, "title": "t", )" + rest + "}", {}};
    parse_json(file, diagnostics);
    auto declared = decode_case(file, file.root, "t", {nullptr, "cpu", false}, diagnostics);
    for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << to_string(diagnostic);
    return declared ? std::move(*declared) : Case{};
  }
  std::string bytes(const InputSet& set, const Json& view) {
    return *read_file(
        set.storages.at(view.at("storage").get<std::size_t>()).at("file").get<std::string>());
  }

  fs::path folder_;
};

TEST_F(InputFiles, ViewsShareTheStorageOfTheirBase) {
  const Case declared = decode(
      R"("inputs": {"x": {"dtype": "int16", "values": [1, 2, 3, -1]}, "v": {"view_of": "x", "shape": [2], "strides": [2], "offset": 1},
         "n": {"float": 0.5}}, "steps": [{"let": "y", "op": "add", "args": ["%x", "%v"]}], "outputs": ["y", "n"])");
  const auto set = write_inputs(declared, folder_, nullptr);
  ASSERT_TRUE(set);
  const Json& inputs = set->calls[0]["inputs"];
  EXPECT_EQ(set->storages.size(), 1U);
  EXPECT_EQ(inputs["x"]["storage"], inputs["v"]["storage"]);
  EXPECT_EQ(inputs["v"]["dtype"], "int16");
  EXPECT_EQ(inputs["v"]["offset"], 1);
  EXPECT_EQ(inputs["n"], (Json{{"float", "0x1p-1"}}));
  EXPECT_EQ(bytes(*set, inputs["x"]), std::string("\1\0\2\0\3\0\377\377", 8));
}

TEST_F(InputFiles, ACallHasItsContext) {
  const Case declared = decode(
      R"("inputs": {"x": {"dtype": "int8", "values": [5]}}, "calls": [{}, {"context": {"grad": false}}],
         "steps": [{"let": "y", "op": "add", "args": ["%x", "%x"]}], "outputs": ["y"], "carry": {"x": "y"})");
  const auto set = write_inputs(declared, folder_, nullptr);
  ASSERT_TRUE(set);
  EXPECT_FALSE(set->calls[0].contains("context"));
  EXPECT_EQ(set->calls[1]["context"].dump(), R"({"grad":false})");
  EXPECT_EQ(set->wire_program()["carry"].dump(), R"({"x":"y"})");
}

TEST_F(InputFiles, AnInputMayBeCalledContext) {
  const Case declared = decode(
      R"("inputs": {"context": {"dtype": "int8", "values": [5]}}, "calls": [{}, {"context": {"values": [6]}}],
         "steps": [{"let": "y", "op": "add", "args": ["%context", 1]}], "outputs": ["y"])");
  EXPECT_EQ(declared.calls.at(1).context, Context());
  EXPECT_EQ(std::get<LiteralFill>(std::get<TensorSpec>(declared.calls[1].inputs[0].value).fill)
                .elements[0]
                .low,
            6U);
}

TEST_F(InputFiles, LiteralsOfStepsBecomeViewsAlsoInsideContexts) {
  const Case declared = decode(
      R"("inputs": {"x": {"dtype": "int8", "values": [5]}}, "steps": [{"let": "t", "tensor": {"dtype": "int8", "values": [6]}},
         {"with": {"grad": false}, "steps": [{"let": "u", "tensor": {"dtype": "int8", "values": [7]}}]}], "outputs": ["x", "t", "u"])");
  const auto set = write_inputs(declared, folder_, nullptr);
  ASSERT_TRUE(set);
  const Json program = set->wire_program();
  EXPECT_EQ(bytes(*set, program["steps"][0]["tensor"]), "\6");
  EXPECT_EQ(bytes(*set, program["steps"][1]["steps"][0]["tensor"]), "\7");
}

TEST_F(InputFiles, EveryCallHasStoragesOfItsOwn) {
  const Case declared = decode(
      R"("inputs": {"x": {"dtype": "uint8", "shape": [2], "fill": "arange"}}, "calls": [{}, {"x": {"shape": [3]}}],
         "steps": [{"let": "y", "op": "relu", "args": ["%x"]}], "outputs": ["y"])");
  const auto set = write_inputs(declared, folder_, nullptr);
  ASSERT_TRUE(set);
  EXPECT_EQ(bytes(*set, set->calls[0]["inputs"]["x"]).size(), 2U);
  EXPECT_EQ(bytes(*set, set->calls[1]["inputs"]["x"]).size(), 3U);
}

TEST_F(InputFiles, QuantizersTravelWithTheirView) {
  const Case declared = decode(
      R"("inputs": {"q": {"dtype": "quint8", "shape": [2, 1], "values": [[0], [255]], "quantizer":
         {"scheme": "per_channel_affine", "scale": [0.5, 2], "zero_point": [3, 0], "axis": 0}}},
         "steps": [{"let": "y", "op": "dequantize", "args": ["%q"]}], "outputs": ["y"])");
  const auto set = write_inputs(declared, folder_, nullptr);
  ASSERT_TRUE(set);
  EXPECT_EQ(set->calls[0]["inputs"]["q"]["quantizer"],
            (Json{{"scheme", "per_channel_affine"},
                  {"scales", {{{"float", "0x1p-1"}}, {{"float", "0x1p+1"}}}},
                  {"zero_points", {3, 0}},
                  {"axis", 0}}));
}

TEST_F(InputFiles, WhatDoesNotFitOnTheDiskIsRefusedBeforeItIsMade) {
  const Case declared = decode(
      R"("inputs": {"x": {"dtype": "float32", "shape": [8796093022208], "fill": "normal"}},
         "steps": [{"let": "y", "op": "relu", "args": ["%x"]}], "outputs": ["y"])");
  const auto set = write_inputs(declared, folder_, nullptr);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message.find("`x` needs 35184372088832 bytes"), std::string::npos)
      << set.error().message;
}

}  // namespace
}  // namespace lockstep
