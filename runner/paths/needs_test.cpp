#include "paths/needs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cases/decode.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

/// Two operators of one tensor, one of which writes to it under a name that does not say so.
const Registry& registry() {
  const auto overload = [](const char* name, bool mutates) {
    const Json argument = {{"name", "self"},
                           {"type", "Tensor"},
                           {"kwarg_only", false},
                           {"mutates", mutates},
                           {"has_default", false}};
    return Json{{"overload", name},
                {"tags", Json::array()},
                {"arguments", {argument}},
                {"returns", {{{"type", "Tensor"}, {"name", ""}}}}};
  };
  Json cast = overload("dtype", false);
  cast["arguments"].push_back({{"name", "dtype"},
                               {"type", "ScalarType"},
                               {"kwarg_only", false},
                               {"mutates", false},
                               {"has_default", false}});
  static const Registry made = *Registry::from_json({{"torch", "2.13.0"},
                                                     {"operators_digest", "f"},
                                                     {"operators",
                                                      {{"aten::relu", {overload("default", false)}},
                                                       {"aten::renew", {overload("default", true)}},
                                                       {"aten::to", {cast}}}}});
  return made;
}

Case decode(const std::string& keys, const Registry* operators = nullptr) {
  JsonFile file{"cases/a.json", R"({"format": 1, "title": "t", )" + keys + "}", {}};
  Diagnostics diagnostics;
  parse_json(file, diagnostics);
  auto declared = decode_case(file, file.root, "a", {operators, "cpu", false}, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << to_string(diagnostic);
  return declared ? std::move(*declared) : Case();
}

constexpr const char* kInput =
    R"("inputs": {"x": {"dtype": "float16", "shape": [2], "fill": {"constant": 1}}})";

/// The features of a case with the input x and these steps, of which y may be a result.
std::vector<std::string> features(const std::string& steps, const Registry* operators = nullptr) {
  const bool has_result = steps.find("\"y\"") != std::string::npos;
  const Case declared = decode(fmt::format(R"({}, "steps": [{}], "outputs": {})", kInput, steps,
                                           has_result ? R"(["x", "y"])" : R"(["x"])"),
                               operators);
  std::vector<std::string> names;
  for (const Feature each : needs_of(declared, "cpu", operators).features)
    names.emplace_back(name_of(each));
  return names;
}

TEST(Needs, MutationIsReadOffTheSchemaOrTheName) {
  EXPECT_THAT(features(R"({"let": "y", "op": "relu", "args": ["%x"]})", &registry()),
              ElementsAre());
  EXPECT_THAT(features(R"({"let": "y", "op": "renew", "args": ["%x"]})", &registry()),
              ElementsAre("mutation"));
  EXPECT_THAT(features(R"({"op": "add_.Tensor", "args": ["%x", 1]})"), ElementsAre("mutation"));
  EXPECT_THAT(features(R"({"let": "y", "op": "add.Tensor", "args": ["%x", 1]})"), ElementsAre());
  EXPECT_THAT(features(R"({"set": "%x[0]", "to": 1})"), ElementsAre("mutation"));
  for (const char* call : {"torch.Tensor.add_", "torch.Tensor.__iadd__"}) {
    EXPECT_THAT(features(fmt::format(R"({{"call": "{}", "args": ["%x", 1]}})", call)),
                ElementsAre("mutation"))
        << call;
  }
  EXPECT_THAT(features(R"({"let": "y", "call": "torch.Tensor.__invert__", "args": ["%x"]})"),
              ElementsAre());
  EXPECT_THAT(
      features(
          R"({"let": "y", "call": "torch.relu", "args": ["%x"], "kwargs": {"inplace": true}})"),
      ElementsAre("mutation"));
  EXPECT_THAT(
      features(
          R"({"let": "y", "call": "torch.relu", "args": ["%x"], "kwargs": {"inplace": false}})"),
      ElementsAre());
}

TEST(Needs, AreWhatTheCaseSays) {
  EXPECT_THAT(features(R"({"let": "y", "grad": {"of": "%x", "wrt": ["%x"]}})"),
              ElementsAre("gradients"));
  const Needs casts = needs_of(decode(fmt::format(R"({}, "steps": [
      {{"let": "t", "tensor": {{"dtype": "int8", "values": [1]}}}},
      {{"let": "y", "op": "to.dtype", "args": ["%x", "complex64"]}}], "outputs": ["y", "t"])",
                                                  kInput),
                                      &registry()),
                               "cuda:1", &registry());
  EXPECT_THAT(casts.dtypes, testing::UnorderedElementsAre("float16", "int8", "complex64"));
  EXPECT_THAT(casts.operators, ElementsAre("aten::to.dtype"));
  EXPECT_THAT(casts.features, ElementsAre(Feature::complex));
  EXPECT_EQ(casts.device, "cuda:1");
  EXPECT_TRUE(casts.has_tensors);
  EXPECT_THAT(
      needs_of(decode(R"("inputs": {"x": {"dtype": "float32", "shape": [2], "fill": {"constant": 1},
                         "requires_grad": true}},
                         "steps": [{"let": "y", "op": "neg", "args": ["%x"]}], "outputs": ["y"])"),
               "cpu", nullptr)
          .features,
      ElementsAre(Feature::gradients));
}

/// What an entry may name.
struct Entry {
  std::vector<std::string> operators = {}, dtypes = {}, devices = {};
  std::vector<Feature> features = {};
  std::string torch = {};
};

/// A path that declares one thing.
Path path(const Entry& entry) {
  Path result;
  result.declarations.unsupported = {
      {entry.operators, entry.dtypes, entry.devices, entry.features, entry.torch, "because"}};
  return result;
}

Needs sorted_halves() {
  Needs needs;
  needs.operators = {"aten::sort.stable", "torch.nn.functional.relu"};
  needs.dtypes = {"float16", "int64"};
  needs.device = "cuda:0";
  needs.features = {Feature::gradients};
  needs.has_tensors = true;
  return needs;
}

bool is_declared(const Path& path, const Needs& needs = sorted_halves()) {
  const Declared declared = declared_of(path, needs, "2.13.0+cpu");
  EXPECT_EQ(declared.strides, "");
  EXPECT_TRUE(declared.unsupported.empty() || declared.unsupported == "because");
  return !declared.unsupported.empty();
}

TEST(Declared, IsWhereAllThatAnEntryNamesIsThere) {
  EXPECT_TRUE(is_declared(path({.operators = {"sort"}, .dtypes = {"float16"}})));
  EXPECT_TRUE(is_declared(path({.operators = {"add", "aten::sort*"}})));
  EXPECT_TRUE(is_declared(path({.operators = {"torch.nn.functional.*"}})));
  EXPECT_FALSE(is_declared(path({.operators = {"sort"}, .dtypes = {"float64"}})));
  EXPECT_FALSE(is_declared(path({.operators = {"sort.default"}})));
  EXPECT_FALSE(is_declared(path({.operators = {"sort"}, .devices = {"cpu"}})));
  EXPECT_TRUE(is_declared(path({.dtypes = {"*16"}, .devices = {"cuda*"}})));
  EXPECT_TRUE(is_declared(path({.features = {Feature::complex, Feature::gradients}})));
  EXPECT_FALSE(is_declared(path({.features = {Feature::complex}})));
}

// "All but these" is how a young backend says what it does not have.
TEST(Declared, WhatIsExcludedIsSupported) {
  EXPECT_FALSE(is_declared(path({.operators = {"!sort", "!relu"}})));
  EXPECT_TRUE(is_declared(path({.operators = {"!sort"}})));
  EXPECT_TRUE(is_declared(path({.dtypes = {"!float16"}})));
  EXPECT_FALSE(is_declared(path({.dtypes = {"!float16", "!int64"}})));
  EXPECT_FALSE(is_declared(path({.operators = {"sort*", "!sort.stable"}})));
}

TEST(Declared, AnEntryMayBeAboutSomeReleases) {
  EXPECT_TRUE(is_declared(path({.operators = {"sort"}, .torch = ">=2.13,<2.14"})));
  EXPECT_FALSE(is_declared(path({.operators = {"sort"}, .torch = ">=2.14"})));
  EXPECT_EQ(declared_of(path({.operators = {"sort"}, .torch = ">=2.14"}), sorted_halves(), "")
                .unsupported,
            "");
}

TEST(Declared, ShapesAreDynamicAsThePathCompiles) {
  Path declares = path({.features = {Feature::dynamic_shapes}});
  Needs varies = sorted_halves();
  varies.features = {Feature::dynamic_shapes};
  EXPECT_TRUE(is_declared(declares, varies));
  EXPECT_FALSE(is_declared(declares));
  declares.dynamic = false;
  EXPECT_FALSE(is_declared(declares, varies));
  declares.dynamic = true;
  EXPECT_TRUE(is_declared(declares, varies));
  EXPECT_TRUE(is_declared(declares));
  varies.has_tensors = false;
  EXPECT_FALSE(is_declared(declares, varies));
  const auto calls = [](const char* shape) {
    return decode(fmt::format(
        R"({}, "calls": [{{}}, {{"x": {{"shape": [{}]}}}}], "steps": [{{"let": "y", "op": "neg", "args": ["%x"]}}], "outputs": ["y"])",
        kInput, shape));
  };
  EXPECT_THAT(needs_of(calls("3"), "cpu", nullptr).features, ElementsAre(Feature::dynamic_shapes));
  EXPECT_THAT(needs_of(calls("2"), "cpu", nullptr).features, ElementsAre());
}

TEST(Declared, StridesOutsideTheContractLeaveTheRestToBeJudged) {
  const Declared declared = declared_of(
      path({.operators = {"sort"}, .features = {Feature::strides}}), sorted_halves(), "2.13.0");
  EXPECT_EQ(declared.strides, "because");
  EXPECT_EQ(declared.unsupported, "");
  EXPECT_EQ(declared_of(path({.operators = {"add"}, .features = {Feature::strides}}),
                        sorted_halves(), "2.13.0")
                .strides,
            "");
}

TEST(Declared, BitsOutsideTheContractAreJudgedAsValues) {
  Path bits = path({.operators = {"sort"}, .features = {Feature::bits}});
  bits.contract = Contract::bits;
  const Declared declared = declared_of(bits, sorted_halves(), "2.13.0");
  EXPECT_EQ(declared.bits, "because");
  EXPECT_EQ(declared.unsupported, "");
  EXPECT_EQ(declared.contract(bits), Contract::values);
  EXPECT_EQ(Declared().contract(bits), Contract::bits);
  const Path gradients = path({.features = {Feature::gradients, Feature::bits}});
  Needs needs = sorted_halves();
  needs.features = {Feature::gradients};
  EXPECT_EQ(declared_of(gradients, needs, "2.13.0").gradient_bits, "because");
  EXPECT_EQ(declared_of(gradients, needs, "2.13.0").bits, "");
  needs.features = {};
  EXPECT_EQ(declared_of(gradients, needs, "2.13.0").gradient_bits, "");
}

}  // namespace
}  // namespace lockstep
