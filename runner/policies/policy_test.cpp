#include "policies/policy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/dtype.h"
#include "base/fixtures.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

std::vector<std::string_view> examples_of(const PolicyInfo& policy) {
  std::vector<std::string_view> examples(policy.examples.begin(), policy.examples.end());
  std::erase(examples, "");
  return examples;
}

TEST(Policy, EverySpellingReadsBackAsItself) {
  for (const std::string_view text :
       {"bits", "bits_strict", "equal", "ulp(4)", "close", "close(rtol=0.001, atol=1e-05)",
        "close(k=1024)", "close(rtol=0.1, atol=0, k=7)", "same(0.0001)", "same_upstream(0.001)",
        "no_worse(1)", "stepwise(2)", "exact", "index_equivalent(x)", "index_equivalent(x, dim=-1)",
        "metadata", "statistical(1e-09)", "any_of(close, no_worse(1))",
        "all_of(exact, any_of(bits, ulp(1)))"}) {
    const auto policy = parse_policy(text);
    ASSERT_TRUE(policy) << text << ": " << policy.error().message;
    EXPECT_EQ(to_string(*policy), text);
    EXPECT_EQ(to_string(*parse_policy(to_string(*policy))), text);
  }
}

TEST(Policy, ParametersHaveDefaults) {
  EXPECT_EQ(to_string(*parse_policy("same")), "same(0.0001)");
  EXPECT_EQ(to_string(*parse_policy(" any_of( close ,no_worse ) ")), "any_of(close, no_worse(1))");
  EXPECT_EQ(parse_policy("close(rtol=1e-3, atol=1e-5)")->rtol, 1e-3);
  EXPECT_EQ(parse_policy("index_equivalent(of=t, dim=1)")->dim, 1);
}

TEST(Policy, ErrorsSayWhatWasFoundAndWhatIsMeant) {
  const auto error = [](std::string_view text) {
    const auto policy = parse_policy(text);
    return policy ? "none" : policy.error().message + " | " + policy.error().hint;
  };
  EXPECT_EQ(error("clsoe"), "unknown policy 'clsoe' | the nearest known name is 'close'");
  EXPECT_THAT(error("zzz"), HasSubstr("known are bits, "));
  EXPECT_THAT(error(""), HasSubstr("a policy's name expected, found the end of the text"));
  EXPECT_THAT(error("ulp"), HasSubstr("ulp needs a number"));
  EXPECT_THAT(error("ulp(1.5)"), HasSubstr("whole number"));
  EXPECT_THAT(error("ulp(-1)"), HasSubstr("not negative"));
  EXPECT_THAT(error("ulp(nan)"), HasSubstr("finite"));
  EXPECT_THAT(error("bits(3)"), HasSubstr("bits takes no argument '3'"));
  EXPECT_THAT(error("close(rtol=1e-3)"), HasSubstr("both rtol and atol"));
  EXPECT_THAT(error("close(rtl=1e-3)"), HasSubstr("takes no argument 'rtl=1e-3'"));
  EXPECT_THAT(error("close(k=0)"), HasSubstr("k of at least 1"));
  EXPECT_THAT(error("index_equivalent"), HasSubstr("name of the tensor"));
  EXPECT_THAT(error("statistical(2)"), HasSubstr("probability"));
  EXPECT_THAT(error("any_of"), HasSubstr("needs policies"));
  EXPECT_THAT(error("any_of(bits"), HasSubstr("')' expected"));
  EXPECT_THAT(error("bits bits"), HasSubstr("after the end"));
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "any_of(";
  EXPECT_THAT(error(deep), HasSubstr("nested deeper"));
}

TEST(Policy, AnyTextIsAPolicyOrAnError) {
  std::mt19937 random(1);
  const std::vector<std::string> words = {"bits", "close", "ulp", "any_of", "(", ")",    ",", "=",
                                          "k",    "1e9",   " ",   "dim",    "x", "\xff", "-"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (unsigned n = random() % 12; n > 0; --n) text += words[random() % words.size()];
    if (const auto policy = parse_policy(text)) {
      EXPECT_TRUE(parse_policy(to_string(*policy))) << text;
    }
  }
}

TEST(Policy, ContractsMeanPolicies) {
  const auto spelled = [](Contract contract, std::string_view dtype) {
    return to_string(default_policy(contract, *find_dtype(dtype)));
  };
  EXPECT_EQ(spelled(Contract::bits, "float16"), "bits");
  EXPECT_EQ(spelled(Contract::casts, "bfloat16"), "any_of(close, stepwise(1))");
  EXPECT_EQ(spelled(Contract::values, "complex64"), "any_of(close, no_worse(1))");
  for (const Contract contract : {Contract::bits, Contract::casts, Contract::values}) {
    EXPECT_EQ(find_contract(name_of(contract)), contract);
    for (const std::string_view dtype : {"int64", "bool", "uint8", "qint8", "bits8"}) {
      EXPECT_EQ(spelled(contract, dtype), contract == Contract::bits ? "exact" : "decided");
    }
  }
}

TEST(Policy, TolerancesComeBesideTheContract) {
  const std::vector<ToleranceRule> rules = {{{"mm"}, {"float16"}, 0.01, 0.001, ""},
                                            {{"mm"}, {"float*"}, 0.5, 0, ""}};
  const auto spelled = [&](Contract contract, const char* name) {
    const Dtype& dtype = *find_dtype(name);
    return to_string(tolerant(default_policy(contract, dtype), dtype, rules));
  };
  EXPECT_EQ(spelled(Contract::values, "float16"),
            "any_of(close, no_worse(1), close(rtol=0.01, atol=0.001), close(rtol=0.5, atol=0))");
  EXPECT_EQ(spelled(Contract::bits, "float32"), "any_of(bits, close(rtol=0.5, atol=0))");
  EXPECT_EQ(spelled(Contract::bits, "bfloat16"), "bits");
  EXPECT_EQ(spelled(Contract::values, "int64"), "decided");
}

TEST(Policy, ExamplesAreSpellingsOfTheirPolicy) {
  for (const PolicyInfo& policy : all_policies()) {
    for (const std::string_view example : examples_of(policy)) {
      const auto read = parse_policy(example);
      ASSERT_TRUE(read) << example << ": " << read.error().message;
      EXPECT_EQ(read->kind, policy.kind) << example;
    }
  }
}

TEST(Policy, SomeJudgePositions) {
  for (const char* text : {"bits", "close", "same_upstream", "no_worse", "index_equivalent(x)",
                           "any_of(metadata, ulp(4))"}) {
    EXPECT_TRUE(judges_positions(*parse_policy(text))) << text;
  }
  for (const char* text : {"metadata", "statistical", "all_of(metadata, statistical)"})
    EXPECT_FALSE(judges_positions(*parse_policy(text))) << text;
}

TEST(Policy, TheReadmeHasTheTable) {
  std::vector<std::string> rows;
  for (const PolicyInfo& policy : all_policies())
    rows.push_back(fmt::format("| {} | {} |", policy.written, policy.formula));
  expect_table("docs/cases/policies.md", "| policy | two tensors agree when |", rows);
}

TEST(Policy, TheSchemasHaveExamplesAndContracts) {
  Json examples = Json::array();
  for (const PolicyInfo& policy : all_policies()) {
    for (const std::string_view example : examples_of(policy)) examples.push_back(example);
  }
  expect_json("cases/schema/case.schema.json", "/$defs/policy/anyOf/1/examples", examples);
  expect_json("cases/schema/path.schema.json", "/properties/contract/enum", contract_names());
}

TEST(Policy, SaysWhichGoldsItReads) {
  const auto needs = [](std::string_view text) {
    const GoldSet found = gold_needs(*parse_policy(text));
    return std::string(found[Gold::fp64] ? "f" : "-") + (found[Gold::stepwise] ? "s" : "-");
  };
  EXPECT_EQ(needs("bits"), "--");
  EXPECT_EQ(needs("any_of(close, no_worse(1))"), "f-");
  EXPECT_EQ(needs("any_of(close, stepwise(1))"), "-s");
  EXPECT_EQ(needs("same"), "fs");
  EXPECT_EQ(needs("same_upstream"), "f-");
}

}  // namespace
}  // namespace lockstep
