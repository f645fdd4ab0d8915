#include "paths/declarations.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fixtures.h"
#include "paths/path.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

/// Reads a path file with these keys; what is wrong with it, a line each.
std::optional<Path> read_path(const std::string& keys, std::string& found) {
  JsonFile file{
      "mine.json",
      R"({"format": 2, "name": "mine", "title": "t", "contract": "bits", "worker": "compiled")"
      ",\n" +
          keys + "}",
      {}};
  Diagnostics diagnostics;
  parse_json(file, diagnostics);
  auto path = decode_path(file, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) found += to_string(diagnostic) + "\n";
  return path;
}

std::string path_faults(const std::string& keys) {
  std::string text;
  read_path(keys, text);
  return text;
}

std::string unsupported(const std::string& entry) {
  return path_faults(fmt::format(R"("unsupported": [{{{}}}])", entry));
}

std::string refuses(const std::string& entry) {
  return path_faults(fmt::format(R"("refuses": [{{{}}}])", entry));
}

TEST(Declarations, AreWhatAPathFileSays) {
  std::string text;
  const auto path = read_path(R"("backend": "mine", "dynamic": false,
    "unsupported": [{"operators": ["sort*", "!sort.stable"], "dtypes": ["float8_*"], "devices": ["cpu"],
                     "features": ["gradients", "complex"], "torch": ">=2.13", "reason": "no kernel"},
                    {"features": ["strides"], "reason": "rows are padded"}],
    "refuses": [{"error": "mine.Unsupported", "match": "no rule for \\w+", "reason": "no rule"}])",
                              text);
  ASSERT_TRUE(path) << text;
  EXPECT_EQ(text, "");
  const Declarations expected{{{{"sort*", "!sort.stable"},
                                {"float8_*"},
                                {"cpu"},
                                {Feature::gradients, Feature::complex},
                                ">=2.13",
                                "no kernel"},
                               {{}, {}, {}, {Feature::strides}, "", "rows are padded"}},
                              {{"mine.Unsupported", "no rule for \\w+", "no rule"}}};
  EXPECT_EQ(path->declarations, expected);
  EXPECT_EQ(path->dynamic, false);
  EXPECT_FALSE(path->torchs_own);
}

TEST(Declarations, WhatIsWrongIsNamedWithItsPlace) {
  EXPECT_EQ(unsupported(R"("features": ["gradient"], "reason": "r")"),
            "mine.json:2:31: /unsupported/0/features/0: found the string \"gradient\", expected a "
            "feature: dynamic_shapes, gradients, mutation, complex, strides or bits\n"
            "    did you mean `gradients`?\n");
  EXPECT_EQ(unsupported(R"("dtypes": ["float32", "flaot16"], "reason": "r")"),
            "mine.json:2:40: /unsupported/0/dtypes/1: found the string \"flaot16\", expected a "
            "dtype or a glob of some\n    did you mean `float16`?\n");
  EXPECT_EQ(unsupported(R"("dtypes": ["!float8_*", "complex*"], "reason": "r")"), "");
  EXPECT_THAT(unsupported(R"("operator": ["add"], "reason": "r")"),
              HasSubstr("2:18: /unsupported/0/operator: found the unknown key `operator`\n"
                        "    did you mean `operators`?"));
  EXPECT_THAT(unsupported(R"("operators": [], "reason": "r")"), HasSubstr("expected at least one"));
  EXPECT_THAT(unsupported(R"("features": [], "reason": "r")"), HasSubstr("expected at least one"));
  EXPECT_THAT(unsupported(R"("features": "complex", "reason": "r")"),
              HasSubstr("expected a list of features"));
  EXPECT_THAT(unsupported(R"("reason": "r")"), HasSubstr("nothing that is not supported"));
  EXPECT_THAT(unsupported(R"("operators": ["add"])"), HasSubstr("the key `reason` is missing"));
  EXPECT_THAT(unsupported(R"("operators": ["add"], "reason": " ")"), HasSubstr("a sentence"));
  EXPECT_THAT(unsupported(R"("operators": ["add"], "torch": "2.13", "reason": "r")"),
              HasSubstr("expected a range such as"));
  EXPECT_THAT(unsupported(R"("features": ["strides", "complex"], "reason": "r")"),
              HasSubstr("found `strides` beside other features"));
  EXPECT_THAT(path_faults(R"("unsupported": {})"), HasSubstr("expected a list of objects"));
  EXPECT_THAT(path_faults(R"("unsupported": [1])"), HasSubstr("expected an object"));
  EXPECT_THAT(path_faults(R"("refuses": [1])"), HasSubstr("expected an object"));
}

// Else a path could call every failure of its compiler a thing that it does not support.
TEST(Declarations, ARefusalSaysWhichErrorsItMeans) {
  EXPECT_EQ(refuses(R"("error": "*.Unsupported", "reason": "r")"), "");
  EXPECT_EQ(refuses(R"("match": "not supported", "reason": "r")"), "");
  for (const char* all :
       {R"("reason": "r")", R"("error": "*", "reason": "r")", R"("match": ".*", "reason": "r")",
        R"("error": "*?", "match": "x?", "reason": "r")"}) {
    EXPECT_THAT(refuses(all), HasSubstr("found a rule that every error meets")) << all;
  }
  EXPECT_THAT(refuses(R"("match": "a(", "reason": "r")"),
              HasSubstr("mine.json:2:23: /refuses/0/match: "));
  EXPECT_THAT(refuses(R"("error": "", "reason": "r")"),
              HasSubstr("expected the class of an error"));
  EXPECT_THAT(refuses(R"("error": "E")"), HasSubstr("the key `reason` is missing"));
  EXPECT_THAT(refuses(R"("erorr": "E", "reason": "r")"), HasSubstr("did you mean `error`?"));
}

TEST(Declarations, ATolerancesSaysHowFarAndWhy) {
  const auto faults = [](const std::string& entry) {
    return path_faults(fmt::format(R"("tolerances": [{{{}}}])", entry));
  };
  const std::string all =
      R"("operators": ["mm"], "dtypes": ["float16"], "rtol": 0.01, "atol": 0, "reason": "r")";
  std::string text;
  const auto path = read_path(R"("backend": "mine", "tolerances": [{)" + all + "}]", text);
  ASSERT_TRUE(path) << text;
  EXPECT_EQ(path->declarations.tolerances,
            (std::vector<ToleranceRule>{{{"mm"}, {"float16"}, 0.01, 0, "r"}}));
  EXPECT_EQ(faults(all), "");
  for (const char* key : {"operators", "dtypes", "rtol", "atol", "reason"}) {
    Json without = Json::parse("{" + all + "}");
    without.erase(key);
    std::string entry = without.dump();
    EXPECT_THAT(faults(entry.substr(1, entry.size() - 2)),
                HasSubstr(fmt::format("the key `{}` is missing", key)));
  }
  const std::string head = R"("operators": ["mm"], "reason": "r", )";
  EXPECT_THAT(faults(head + R"("dtypes": ["float16"], "rtol": -1, "atol": 0)"),
              HasSubstr("expected a number that is not negative"));
  EXPECT_THAT(faults(head + R"("dtypes": ["flaot16"], "rtol": 0, "atol": 0)"),
              HasSubstr("did you mean `float16`?"));
  EXPECT_THAT(faults(head + R"("dtypes": [], "rtol": 0, "atol": 0)"),
              HasSubstr("expected at least one"));
}

TEST(Declarations, DocumentsHaveTheFeatures) {
  std::vector<std::string> rows;
  Json names = Json::array();
  for (const FeatureInfo& each : all_features()) {
    rows.push_back(fmt::format("| `{}` | {} |", each.name, each.had));
    names.push_back(each.name);
  }
  expect_table("docs/vendor/declare.md", "| feature | had by |", rows);
  expect_json("cases/schema/path.schema.json",
              "/properties/unsupported/items/properties/features/items/enum", names);
}

}  // namespace
}  // namespace lockstep
