#include "program/visit.h"

#include <gtest/gtest.h>

#include <utility>

#include "program/program_json.h"

namespace lockstep {
namespace {

/// Writes down what a walk tells.
struct Diary : Visitor {
  std::string text;
  int values = 0;

  void step(const Step&) { text += "|"; }
  void value(const Value&) { ++values; }
  void uses(const std::string& name) { text += " " + name; }
  void defines(const std::string& name) { text += " =" + name; }
};

/// Makes every name long and every int a string.
struct Scribble : Visitor {
  void value(Value& value) {
    if (std::holds_alternative<std::int64_t>(value.is)) value.is = std::string("int");
  }
  void uses(std::string& name) { name += "_used"; }
  void defines(std::string& name) { name += "_made"; }
};

TEST(Visit, EveryPlaceOfAName) {
  Json literals = Json::array();
  auto read = program_from_json(Json::parse(R"({"inputs": ["i"], "steps": [
      {"let": ["a", null], "op": "f", "args": [{"ref": "r1"}, [1, [{"ref": "r2"}]]], "kwargs": {"ref": {"ref": "r3"}, "let": 2}},
      {"let": ["b"], "call": "f", "args": [{"ref": "r4"}]},
      {"let": ["t"], "tensor": {}},
      {"let": ["c"], "get": {"ref": "r5"}, "index": [{"ellipsis": true}, {"slice": [{"ref": "r6"}, {"ref": "r7"}, {"ref": "r8"}]}, {"ref": "r9"}]},
      {"set": {"ref": "s1"}, "index": [{"ref": "s2"}], "to": {"ref": "s3"}},
      {"let": ["d"], "scalar": ["add", {"ref": "s4"}, 3]},
      {"with": {}, "steps": [{"let": ["e"], "grad": {"of": [{"ref": "g1"}], "wrt": [{"ref": "g2"}], "with": [{"ref": "g3"}]}}]}],
      "outputs": ["o"], "backward": {"of": ["p"], "with": ["q"]}})"),
                                literals);
  ASSERT_TRUE(read) << to_string(read.error());
  Program program = *read;
  Diary diary;
  walk(std::as_const(program), diary);
  EXPECT_EQ(diary.text,
            " =i| r1 r2 r3 =a| r4 =b| =t| r5 r6 r7 r8 r9 =c| s1 s2 s3| s4 =d|| g1 g2 g3 =e o p q");
  EXPECT_EQ(diary.values, 21);
  Scribble scribble;
  walk(program, scribble);
  Diary after;
  walk(program, after);
  EXPECT_EQ(after.text.substr(0, 61),
            " =i_made| r1_used r2_used r3_used =a_made| r4_used =b_made| =");
  const auto& call = std::get<OpCall>(program.steps[0].does);
  EXPECT_EQ(call.arguments.kwargs[1].first, "let");
  EXPECT_EQ(call.arguments.kwargs[1].second, Value{std::string("int")});
  EXPECT_EQ(program.steps[0].let[1], std::nullopt);
}

}  // namespace
}  // namespace lockstep
