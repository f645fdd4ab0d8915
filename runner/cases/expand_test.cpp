#include "cases/expand.h"

#include <gtest/gtest.h>

#include "cases/suite.h"

namespace lockstep {
namespace {

struct Expanded {
  std::vector<MatrixChoice> choices;
  Diagnostics diagnostics;
};

Expanded expand(const std::string& matrix) {
  const JsonFile file{"t.json", "{\"matrix\": " + matrix + "}", {}};
  Expanded result;
  Reader reader(file, result.diagnostics);
  result.choices = matrix_choices(reader, Json::parse(file.text));
  return result;
}

TEST(Expand, EveryChoiceOfEveryNameInOrder) {
  std::vector<std::string> suffixes;
  for (const MatrixChoice& choice :
       expand(R"({"dtype": ["float16", "int8"], "dim": [0, [0, 1]]})").choices)
    suffixes.push_back(choice.suffix);
  EXPECT_EQ(suffixes,
            (std::vector<std::string>{"[dtype=float16,dim=0]", "[dtype=float16,dim=[0,1]]",
                                      "[dtype=int8,dim=0]", "[dtype=int8,dim=[0,1]]"}));
}

TEST(Expand, AChoiceMayBeOfSeveralValues) {
  const Expanded rows = expand(
      R"({"form": [{"is": "wide", "shape": [2, 9], "dim": 1}, {"is": "empty", "shape": [0], "dim": null}]})");
  ASSERT_TRUE(rows.diagnostics.empty()) << rows.diagnostics[0].message;
  EXPECT_EQ(rows.choices[0].suffix, "[form=wide]");
  std::vector<std::string> unknown;
  const Json root =
      Json::parse(R"({"a": "$form.shape", "b": ["$form.dim", "$form.size", "$form"]})");
  const Json one = substitute(root, rows.choices[0], "cpu", unknown);
  EXPECT_EQ(one["a"], Json::parse("[2, 9]"));
  EXPECT_EQ(one["b"][0], 1);
  EXPECT_EQ(unknown, (std::vector<std::string>{"/b/1", "/b/2"}));
  for (const char* matrix : {R"({"form": [{"shape": [2]}]})", R"({"form": [{"is": "a"}, 2]})",
                             R"({"form": [{"is": "a", "n": 1}, {"is": "b"}]})",
                             R"({"form": [{"is": "a"}, {"is": "b", "n": 1}]})"}) {
    EXPECT_FALSE(expand(matrix).diagnostics.empty()) << matrix;
  }
}

TEST(Expand, WithoutAMatrixThereIsOneChoice) {
  const JsonFile file{"t.json", "{}", {}};
  Diagnostics diagnostics;
  Reader reader(file, diagnostics);
  const Json root = Json::object();
  const auto choices = matrix_choices(reader, root);
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(choices[0].suffix, "");
}

TEST(Expand, WhatCannotBeAnIdOrIsTooMuchIsRefused) {
  for (const char* matrix :
       {R"([1])", R"({"dtype": "float16"})", R"({"dtype": []})", R"({"device": ["cpu"]})",
        R"({"a b": [1]})", R"({"d": ["a b"]})", R"({"d": ["a/b"]})", R"({"d": ["x@y"]})",
        R"({"d": ["*"]})", R"({"d": [""]})", R"({"d": ["quote'"]})"}) {
    EXPECT_FALSE(expand(matrix).diagnostics.empty()) << matrix;
  }
  std::string many = "[0";
  for (int i = 1; i < 1000; ++i) many += "," + std::to_string(i);
  many += "]";
  const Expanded tenth = expand("{\"a\": " + many + ", \"b\": " + many + "}");
  EXPECT_FALSE(tenth.diagnostics.empty());
  EXPECT_LE(tenth.choices.size(), 10'000U);
}

TEST(Expand, SubstitutesEverywhereAndWholeStringsOnly) {
  const Json root = Json::parse(
      R"({"matrix": {"d": [1]}, "a": ["$d", {"b": "$device"}], "c": "costs $d", "e": "$other", "f": "$"})");
  MatrixChoice choice;
  choice.values.emplace_back("d", Json::array({0, 1}));
  std::vector<std::string> unknown;
  const Json result = substitute(root, choice, "cuda", unknown);
  EXPECT_EQ(result.dump(), R"({"a":[[0,1],{"b":"cuda"}],"c":"costs $d","e":"$other","f":"$"})");
  EXPECT_EQ(unknown, std::vector<std::string>{"/e"});
}

TEST(Expand, TwoDollarsAreOneAndNoChoice) {
  const Json root = Json::parse(
      R"({"a": ["$$d", "$$device", "$$$d", "$$", "$"], "b": {"c": "$d"}, "d": "a $$ b"})");
  MatrixChoice choice;
  choice.values.emplace_back("d", "$$d");  // a value of the matrix is taken as it is
  std::vector<std::string> unknown;
  const Json result = substitute(root, choice, "cuda", unknown);
  EXPECT_EQ(result.dump(), R"({"a":["$d","$device","$$d","$","$"],"b":{"c":"$$d"},"d":"a $$ b"})");
  EXPECT_TRUE(unknown.empty());
}

}  // namespace
}  // namespace lockstep
