#include "plan/filter.h"

#include <gtest/gtest.h>

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
  std::vector<std::string> statuses = {"value_differs", "new", "failing"};
  FilterSubject subject{
      "bugs/1-x", "bugs/1-x[dim=0]@cpu", "inductor", "cpu", &tags, &operators, &dtypes, &statuses};
};

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
  EXPECT_TRUE(selects({"status:value_differs"}, subject));
  EXPECT_TRUE(selects({"status:failing"}, subject));
  EXPECT_TRUE(selects({"status:*_differs"}, subject));
  EXPECT_FALSE(selects({"status:crash"}, subject));
  EXPECT_FALSE(selects({"!status:new"}, subject));
  subject.statuses = nullptr;  // not in that log
  EXPECT_FALSE(selects({"status:value_differs"}, subject));
  EXPECT_TRUE(selects({"!status:value_differs"}, subject));
  const auto filter = Filter::parse({"status:value_difers"});
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().hint, "did you mean `value_differs`?");
}

TEST_F(Filters, WhatIsNotKnownYetSelectsAndExcludesNothing) {
  subject.path = "";
  subject.operators = nullptr;
  subject.dtypes = nullptr;
  subject.statuses = nullptr;
  EXPECT_TRUE(selects({"op:mul", "path:eager", "dtype:int8", "status:crash"}, subject));
  EXPECT_TRUE(selects({"!op:add", "!path:inductor", "!dtype:int64", "!status:crash"}, subject));
}

TEST_F(Filters, MisspelledKindsAreErrors) {
  const auto filter = Filter::parse({"tga:silent"});
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().hint, "did you mean `tag`?");
  EXPECT_FALSE(Filter::parse({"tag:"}));
}

}  // namespace
}  // namespace lockstep
