#include "cases/inputs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/sha256.h"
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

/// What a stranger wrote is read only where it is what the case says, and nothing else beside it.
TEST_F(InputFiles, ElementsOfAFileAreThoseThatTheCaseNames) {
  const std::string bytes("\1\0\2\0\3\0", 6), name = sha256(bytes) + ".bin";
  const std::string other("\1\0\2\0\3\1", 6);
  const fs::path beside = folder_ / "values";
  const auto said = [&](const std::string& file, const std::string& shape = "[3]") {
    Diagnostics diagnostics;
    JsonFile json{
        "t.json",
        R"({"format": 1, "title": "t", "inputs": {"x": {"dtype": "int16", "shape": )" + shape +
            R"(, "file": ")" + file +
            R"("}}, "steps": [{"let": "y", "op": "neg", "args": ["%x"]}], "outputs": ["y"]})",
        {},
        ValuePlace{folder_, std::make_shared<ValueFiles>()}};
    parse_json(json, diagnostics);
    const auto declared = decode_case(json, json.root, "t", {nullptr, "cpu", false}, diagnostics);
    EXPECT_EQ(declared.has_value(), diagnostics.empty());
    if (!declared) return to_string(diagnostics.front());
    const auto set = write_inputs(*declared, folder_, nullptr);
    EXPECT_TRUE(set);
    return this->bytes(*set, set->calls[0]["inputs"]["x"]);
  };
  const auto refused = [&](const std::string& text, const std::string& part) {
    EXPECT_EQ(text.find("t.json:1:"), 0U) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  refused(said(name), "No such file");
  fs::create_directories(beside);
  refused(said(name), "No such file");
  ASSERT_TRUE(write_file(beside / name, bytes));
  EXPECT_EQ(said(name), bytes);
  refused(said(name, "[4]"), ".bin of 6 bytes, expected 8");
  refused(said(name, "[2]"), "it has 6 bytes, at most 4 may be read");
  refused(said("../" + name), "64 hexadecimal digits");
  refused(said(name, "[100000000]"), "at most 67,108,864");
  // Other bytes of the same size; the ones before are not kept for it.
  ASSERT_TRUE(write_file(beside / name, other));
  refused(said(name), "SHA-256 " + sha256(other) + ", expected the one in its name");
  // Links, of the file and of the folder, and what is no file.
  const fs::path outside = folder_ / "outside";
  fs::create_directories(outside);
  ASSERT_TRUE(write_file(outside / name, bytes));
  fs::remove(beside / name);
  fs::create_symlink(outside / name, beside / name);
  refused(said(name), "it is a link");
  fs::remove(beside / name);
  ASSERT_EQ(::mkfifo((beside / name).c_str(), 0600), 0);
  refused(said(name), "no regular file");
  fs::remove_all(beside);
  fs::create_directory_symlink(outside, beside);
  refused(said(name), "values is a link");
}

TEST_F(InputFiles, ExceptionsKeepTheirPlaces) {
  const Case declared = decode(
      R"("inputs": {"x": {"dtype": "float32", "shape": [4], "fill": {"constant": 2},
                          "except": {"nan": [3], "-0.0": [1], "-inf": [0]}}},
         "calls": [{}, {"x": {"fill": "arange"}}],
         "steps": [{"let": "y", "op": "neg", "args": ["%x"]}], "outputs": ["y"])");
  const auto set = write_inputs(declared, folder_, nullptr);
  ASSERT_TRUE(set);
  EXPECT_EQ(bytes(*set, set->calls[0]["inputs"]["x"]),
            std::string("\0\0\200\377\0\0\0\200\0\0\0@\0\0\300\177", 16));
  EXPECT_EQ(bytes(*set, set->calls[1]["inputs"]["x"]).substr(0, 4), std::string(4, '\0'))
      << "another fill has exceptions of its own";
}

TEST_F(InputFiles, ACallHasItsContext) {
  const Case declared = decode(
      R"("inputs": {"x": {"dtype": "int8", "values": [5]}}, "calls": [{}, {"context": {"grad": false, "thread": true}}],
         "steps": [{"let": "y", "op": "add", "args": ["%x", "%x"]}], "outputs": ["y"], "carry": {"x": "y"})");
  const auto set = write_inputs(declared, folder_, nullptr);
  ASSERT_TRUE(set);
  EXPECT_FALSE(set->calls[0].contains("context"));
  EXPECT_EQ(set->calls[1]["context"].dump(), R"({"grad":false,"thread":true})");
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
