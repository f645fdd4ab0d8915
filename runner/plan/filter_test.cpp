#include "plan/filter.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace lockstep {
namespace {

bool selects(const std::vector<std::string>& terms, const FilterSubject& subject) {
  return Filter::parse(terms).value().selects(subject);
}

class Filters : public testing::Test {
 protected:
  std::vector<std::string> tags = {"precision-cast", "silent"};
  std::vector<std::string> operators = {"aten::add.Tensor", "torch.nn.functional.relu"};
  std::vector<std::string> dtypes = {"float16", "int64"};
  LogWords said = {{"status", {"value_diverges", "new", "failing"}},
                   {"is", {"failing", "unstable"}},
                   {"fingerprint", {"add:compiled-nan"}},
                   {"reason", {"y: NaN differs"}}};
  FilterSubject subject{
      "bugs/1-x", "bugs/1-x[dim=0]@cpu", "inductor", "cpu", &tags, &operators, &dtypes, &said};
};

/// The page reads the same file (reports/test_page.py), so that both speak one language.
TEST(Filter, SaysOfTheSharedExpressionsWhatThePageSays) {
  const Json data = Json::parse(
      *read_file(std::string(LOCKSTEP_SOURCE_DIR) + "/runner/plan/testdata/filters.json"));
  ASSERT_GT(data["expressions"].size(), 40u);
  for (const Json& expression : data["expressions"]) {
    const std::string text = expression["filter"];
    const auto filter = Filter::parse({text});
    if (expression.contains("refused")) {
      ASSERT_FALSE(filter) << text;
      const std::string told = filter.error().message + filter.error().hint;
      EXPECT_NE(told.find(expression["refused"].get<std::string>()), std::string::npos) << told;
      continue;
    }
    ASSERT_TRUE(filter) << text;
    std::vector<std::size_t> matches;
    for (std::size_t i = 0; i < data["verdicts"].size(); ++i) {
      const Json& verdict = data["verdicts"][i];
      const auto words = [&](const char* key) {
        return verdict[key].get<std::vector<std::string>>();
      };
      const std::string case_id = verdict["case"], instance = verdict["instance"],
                        path = verdict["path"], device = verdict["device"];
      const std::vector<std::string> tags = words("tags"), operators = words("operators"),
                                     dtypes = words("dtypes");
      LogWords said;
      for (const auto& [kind, spoken] : verdict["said"].items()) said[kind] = spoken;
      if (filter->selects({case_id, instance, path, device, &tags, &operators, &dtypes, &said}))
        matches.push_back(i);
    }
    EXPECT_EQ(matches, expression["matches"].get<std::vector<std::size_t>>()) << text;
  }
}

TEST_F(Filters, AnIdIsACaseAnInstanceOrAVerdict) {
  for (const char* id : {"bugs/1-x", "bugs/*", "bugs/1-x[dim=0]@cpu", "*@cpu",
                         "bugs/1-x[dim=0]@cpu/inductor", "bugs/*@cpu/ind*"}) {
    EXPECT_TRUE(selects({id}, subject)) << id;
  }
  for (const char* id : {"bugs/1", "bugs/1-x@cpu", "bugs/1-x[dim=0]@cpu/eager", "*@cuda"})
    EXPECT_FALSE(selects({id}, subject)) << id;
}

TEST_F(Filters, TermsOfAKindAreAlternativesAndKindsMustAllHold) {
  EXPECT_TRUE(selects({"tag:silent", "tag:other"}, subject));
  EXPECT_TRUE(selects({"tag:silent", "path:inductor"}, subject));
  EXPECT_FALSE(selects({"tag:silent", "path:eager"}, subject));
  EXPECT_FALSE(selects({"tag:other"}, subject));
  EXPECT_FALSE(selects({"bugs/*", "!tag:silent"}, subject));
  EXPECT_TRUE(selects({"!tag:other"}, subject));
  EXPECT_TRUE(selects({}, subject));
}

TEST_F(Filters, OperatorsAreMeantByOverloadNameOrLastPart) {
  for (const char* op : {"op:add", "op:add.Tensor", "op:aten::add", "op:add.*", "op:relu",
                         "op:torch.nn.functional.*"})
    EXPECT_TRUE(selects({op}, subject)) << op;
  for (const char* op : {"op:ad", "op:add.Scalar", "op:Tensor"})
    EXPECT_FALSE(selects({op}, subject)) << op;
}

TEST_F(Filters, DtypesAreThoseOfInputs) {
  EXPECT_TRUE(selects({"dtype:float16"}, subject));
  EXPECT_TRUE(selects({"dtype:int*"}, subject));
  EXPECT_TRUE(selects({"dtype:bfloat16", "dtype:int64"}, subject));
  EXPECT_FALSE(selects({"dtype:float"}, subject));
  EXPECT_FALSE(selects({"!dtype:float16"}, subject));
}

TEST_F(Filters, StatusesAreThoseOfAnEarlierLog) {
  EXPECT_TRUE(selects({"status:value_diverges"}, subject));
  EXPECT_TRUE(selects({"status:failing"}, subject));
  EXPECT_TRUE(selects({"status:*_diverges"}, subject));
  EXPECT_FALSE(selects({"status:crash"}, subject));
  EXPECT_FALSE(selects({"!status:new"}, subject));
  subject.said = nullptr;  // not in that log
  EXPECT_FALSE(selects({"status:value_diverges"}, subject));
  EXPECT_TRUE(selects({"!status:value_diverges"}, subject));
  const auto filter = Filter::parse({"status:value_divreges"});
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().hint, "did you mean `value_diverges`?");
}

TEST_F(Filters, WhatIsNotKnownYetSelectsAndExcludesNothing) {
  subject.path = "";
  subject.operators = nullptr;
  subject.dtypes = nullptr;
  subject.said = nullptr;
  EXPECT_TRUE(selects({"op:mul", "path:eager", "dtype:int8", "status:crash"}, subject));
  EXPECT_TRUE(selects({"!op:add", "!path:inductor", "!dtype:int64", "!status:crash"}, subject));
}

TEST_F(Filters, TheDeviceMayBeLeftOutAfterAMatrix) {
  EXPECT_TRUE(selects({"bugs/1-x[dim=0]"}, subject));
  EXPECT_TRUE(selects({"bugs/*[dim=0]"}, subject));
  EXPECT_FALSE(selects({"bugs/1-x[dim=1]"}, subject));
  EXPECT_FALSE(selects({"!bugs/1-x[dim=0]"}, subject));
}

TEST_F(Filters, WordsThatAreNoCaseArePartsOfIds) {
  const auto found = [&](const std::vector<std::string>& terms) {
    Filter filter = Filter::parse(terms).value();
    filter.search_words([](const std::string& id) { return id == "dim"; });
    return filter.selects(subject);
  };
  EXPECT_TRUE(found({"1-X"}));
  EXPECT_TRUE(found({"1-x", "cpu"}));
  EXPECT_FALSE(found({"1-x", "cuda"})) << "words narrow each other down";
  EXPECT_FALSE(found({"dim"})) << "a case, and no other";
  EXPECT_FALSE(found({"!1-x"}));
  EXPECT_FALSE(selects({"1-x"}, subject)) << "levels mean ids";
}

TEST_F(Filters, ExpressionsJoinTerms) {
  for (const std::vector<std::string>& terms : std::vector<std::vector<std::string>>{
           {"status:failing and (op:add or op:mul)"},
           {"status:failing", "and", "(", "op:mul", "or", "op:add", ")"},
           {"status:failing", "op:mul or op:add"},
           {"op:mul and status:failing or tag:silent"},
           {"not op:mul"},
           {"!(op:mul or tag:other)"},
           {"not", "not", "op:add"},
           {"op:mul op:add and tag:silent"},
           {"op:add op:mul"},
           {"id:bugs/1-x[dim=0]@cpu and (is:unstable)"},
           {"fingerprint:add:* reason:nan"}})
    EXPECT_TRUE(selects(terms, subject)) << testing::PrintToString(terms);
  for (const std::vector<std::string>& terms :
       std::vector<std::vector<std::string>>{{"status:failing and (op:sub or op:mul)"},
                                             {"status:crash", "op:mul or op:add"},
                                             {"op:mul and (status:failing or tag:silent)"},
                                             {"not op:add"},
                                             {"!(op:mul or tag:silent)"},
                                             {"op:mul tag:silent or status:crash"},
                                             {"is:known"},
                                             {"fingerprint:add"},
                                             {"reason:infinity"}})
    EXPECT_FALSE(selects(terms, subject)) << testing::PrintToString(terms);
}

TEST_F(Filters, WhatIsNotKnownYetDecidesNoExpression) {
  subject.path = "";
  subject.operators = nullptr;
  subject.said = nullptr;
  EXPECT_TRUE(selects({"not (op:add and tag:silent)"}, subject));
  EXPECT_TRUE(selects({"op:mul or tag:other"}, subject));
  EXPECT_TRUE(selects({"not path:inductor"}, subject));
  EXPECT_FALSE(selects({"op:add and tag:other"}, subject));
  EXPECT_FALSE(selects({"not (op:add or tag:silent)"}, subject));
}

TEST_F(Filters, OnlyWhatDecodingMayChangeNeedsIt) {
  subject.path = "";
  subject.operators = nullptr;
  subject.dtypes = nullptr;
  const auto anyway = [&](const std::vector<std::string>& terms) {
    return Filter::parse(terms).value().selects_anyway(subject);
  };
  EXPECT_TRUE(anyway({"tag:silent"}));
  EXPECT_TRUE(anyway({"tag:silent or op:mul"}));
  EXPECT_TRUE(anyway({"not (path:inductor and not op:mul)"})) << "whichever path it will be";
  EXPECT_TRUE(anyway({"not (tag:other and op:add)"}));
  for (const std::vector<std::string>& terms :
       std::vector<std::vector<std::string>>{{"op:add"},
                                             {"!op:mul"},
                                             {"!dtype:int8"},
                                             {"tag:silent", "op:add"},
                                             {"not (tag:silent and not op:add)"},
                                             {"not (tag:silent and op:add)"}})
    EXPECT_FALSE(anyway(terms)) << testing::PrintToString(terms);
  const Filter of_level = Filter::parse({"op:add"}).value();
  EXPECT_FALSE(Filter::parse({"tag:silent"}).value().within(of_level).selects_anyway(subject));
}

TEST_F(Filters, FaultsOfTheGrammarNameTheColumn) {
  const auto fault = [](const std::vector<std::string>& terms) {
    const auto filter = Filter::parse(terms);
    return filter ? "" : filter.error().message;
  };
  EXPECT_EQ(fault({"op:a and (op:b"}),
            "`op:a and (op:b`, column 15: found the end, expected `)` for the `(` at column 10");
  EXPECT_EQ(fault({"op:a or and op:b"}),
            "`op:a or and op:b`, column 9: found `and`, expected a term");
  EXPECT_EQ(fault({"op:a or op:b)"}),
            "`op:a or op:b)`, column 13: found `)`, expected a term or the end");
  EXPECT_EQ(fault({"op:a", "or"}), "`or`, column 3: found the end, expected a term");
  EXPECT_EQ(fault({"not"}), "`not`, column 4: found the end, expected a term");
  EXPECT_NE(fault({std::string(100'000, '(')}).find("at most 100"), std::string::npos);
  EXPECT_NE(fault({" "}).find("empty"), std::string::npos);
  EXPECT_EQ(fault({"X[a b]", "fingerprint:f(x)", "sweeps/u[op=sq*"}), "");
}

TEST_F(Filters, PathsOfTheLadderReplaceThoseAskedFor) {
  const Filter down = Filter::parse({"bugs/1-x[dim=0]@cpu/inductor", "path:other"})
                          .value()
                          .on_paths({"eager", "aot"});
  EXPECT_FALSE(down.selects(subject));
  subject.path = "aot";
  EXPECT_TRUE(down.selects(subject));
  EXPECT_TRUE(down.is_plain());
  EXPECT_FALSE(Filter::parse({"path:a or op:b"}).value().is_plain());
}

TEST(Filter, ThatOnlyExcludesPathsAsksForNone) {
  for (const char* text : {"!path:a", "not (bugs/* and path:a)", "!bugs/*@cpu/a"}) {
    const Filter filter = Filter::parse({"bugs/*", text}).value();
    EXPECT_FALSE(filter.mentions("path")) << text;
    EXPECT_TRUE(filter.excludes_paths()) << text;
  }
  const Filter asks = Filter::parse({"bugs/*@cpu/a"}).value();
  EXPECT_TRUE(asks.mentions("path") && !asks.excludes_paths());
}

TEST_F(Filters, AllFaultsAreFound) {
  std::vector<Error> errors;
  Filter::parse({"tga:silent", "status:conforn", "op:"}, {}, errors);
  EXPECT_EQ(errors.size(), 3U);
}

TEST_F(Filters, MisspelledKindsAreErrors) {
  const auto filter = Filter::parse({"tga:silent"});
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().hint, "did you mean `tag`?");
  EXPECT_FALSE(Filter::parse({"tag:"}));
}

}  // namespace
}  // namespace lockstep
