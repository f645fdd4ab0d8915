#include "cases/python_operators.h"

#include <gtest/gtest.h>

#include "cases/decode.h"
#include "cases/testdata/registry.h"
#include "program/print.h"

namespace lockstep {
namespace {

/// What is decoded of a case with one step that calls `op`.
std::optional<Case> calling(const std::string& op, const PythonOperators* python,
                            Diagnostics& diagnostics, bool on_a_run = false) {
  const Json root = {{"format", 1},
                     {"title", "t"},
                     {"inputs", {{"x", {{"dtype", "float32"}, {"values", Json::array({1, 2})}}}}},
                     {"steps", {{{"let", "y"}, {"op", op}, {"args", {"%x"}}}}},
                     {"outputs", {"y"}}};
  JsonFile file{"t.json", root.dump(), {}};
  parse_json(file, diagnostics);
  return decode_case(file, file.root, "t", {&dumped_operators(), "cpu", on_a_run, python},
                     diagnostics);
}

TEST(PythonOperators, AreAskedForOnceAndOnlyWhenNeeded) {
  int asked = 0;
  const PythonOperators python([&]() -> Result<std::set<std::string>> {
    ++asked;
    return std::set<std::string>{"mylib::op", "mylib::op.int"};
  });
  Diagnostics diagnostics;
  ASSERT_TRUE(calling("relu", &python, diagnostics));
  ASSERT_TRUE(calling("prims::sin", &python, diagnostics));
  EXPECT_EQ(asked, 0);
  for (const char* op : {"mylib::op", "mylib::op.default", "mylib::op.int"}) {
    const auto declared = calling(op, &python, diagnostics);
    ASSERT_TRUE(declared) << to_string(diagnostics.front());
    const auto* call = std::get_if<FunctionCall>(&declared->program.steps.front().does);
    ASSERT_NE(call, nullptr);
    EXPECT_TRUE(is_operator(*call));
    EXPECT_EQ(call->function, std::string(op) == "mylib::op" ? "mylib::op.default" : op);
    EXPECT_TRUE(declared->random) << "nobody can tell";
  }
  EXPECT_EQ(asked, 1);
}

TEST(PythonOperators, OnesThatNobodyRegisteredAreErrorsThatSayHow) {
  const PythonOperators python(
      []() -> Result<std::set<std::string>> { return std::set<std::string>{"mylib::op"}; });
  for (const char* op : {"other::op", "mylib::op.float"}) {
    Diagnostics diagnostics;
    EXPECT_FALSE(calling(op, &python, diagnostics));
    ASSERT_EQ(diagnostics.size(), 1U);
    EXPECT_NE(to_string(diagnostics[0]).find("unknown operator"), std::string::npos);
  }
  Diagnostics diagnostics;
  EXPECT_FALSE(calling("other::op", nullptr, diagnostics));
  EXPECT_NE(diagnostics.at(0).hint.find("--module NAME"), std::string::npos);
  const auto lacks = calling("other::op", nullptr, diagnostics, true);
  ASSERT_TRUE(lacks);
  EXPECT_NE(lacks->lacking.find("--module NAME"), std::string::npos);
}

TEST(PythonOperators, WhatPythonCannotTellIsAnErrorOnARunToo) {
  const PythonOperators python(
      []() -> Result<std::set<std::string>> { return fail("cannot import the module x"); });
  Diagnostics diagnostics;
  EXPECT_FALSE(calling("mylib::op", &python, diagnostics, true));
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_NE(diagnostics[0].hint.find("cannot import the module x"), std::string::npos);
}

TEST(PythonOperators, PrimsAreNames) {
  for (const char* good : {"prims::sin", "prims::sin.default", "prims::_make_token"})
    EXPECT_TRUE(is_prim(good)) << good;
  for (const char* bad :
       {"prims::", "prims::sin.", "prims::.default", "prims::sin.a.b", "aten::sin", "prims::sin()",
        "prims::a b", "prims::1", "myprims::sin", "sin"})
    EXPECT_FALSE(is_prim(bad)) << bad;
}

}  // namespace
}  // namespace lockstep
