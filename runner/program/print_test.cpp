#include "program/print.h"

#include <gtest/gtest.h>

#include <cmath>

#include "program/program_json.h"

namespace lockstep {
namespace {

TEST(Print, Values) {
  EXPECT_EQ(print(Value{}), "None");
  EXPECT_EQ(print(Value{true}), "true");
  EXPECT_EQ(print(Value{-3}), "-3");
  EXPECT_EQ(print(Value{std::uint64_t{18446744073709551615U}}), "18446744073709551615");
  EXPECT_EQ(print(Value{Float{3}}), "3.0");
  EXPECT_EQ(print(Value{Float{-0.0}}), "-0.0");
  EXPECT_EQ(print(Value{Float{1e300}}), "1e+300");
  EXPECT_EQ(print(Value{Float{-INFINITY}}), "-inf");
  EXPECT_EQ(print(Value{Float{NAN}}), "nan");
  EXPECT_EQ(print(Value{Complex{{1}, {-2.5}}}), "(1.0 + -2.5j)");
  EXPECT_EQ(print(Value{Ref{"x"}}), "x");
  EXPECT_EQ(print(Value{Enumeration{Enumeration::Kind::dtype, "float16"}}), "float16");
  EXPECT_EQ(print(Value{std::string("a\"b")}), "\"a\\\"b\"");
  EXPECT_EQ(print(Value{Value::List{{1}, {Value::List{}}, {Ref{"y"}}}}), "[1, [], y]");
}

TEST(Print, AProgramReadsAsCode) {
  Json literals = Json::array();
  const auto program = program_from_json(Json::parse(
                                             R"({"inputs": ["x", "n"], "steps": [
      {"let": ["t"], "tensor": {}},
      {"let": ["a", null], "op": "aten::f.default", "args": [{"ref": "x"}, 0], "kwargs": {"k": {"float": "0x1p-1"}}},
      {"let": [], "call": "torch.f_", "args": [], "kwargs": {"k": 1}},
      {"let": ["b"], "get": {"ref": "a"}, "index": [{"ellipsis": true}, {"newaxis": true}, {"slice": [0, null, 2]}, {"slice": [null, {"ref": "n"}, null]}, [0, 1]]},
      {"set": {"ref": "b"}, "index": [0], "to": {"float": "-inf"}},
      {"let": ["q"], "scalar": ["mul", {"ref": "n"}, {"float": "0x1.4p+1"}]},
      {"with": {"grad": true, "autocast": {"device": "cpu", "dtype": "bfloat16", "enabled": false}}, "steps": [
        {"let": ["g", "h"], "grad": {"of": [{"ref": "b"}], "wrt": [{"ref": "x"}, {"ref": "a"}]}}]}],
      "outputs": ["g", "q", "g", null, 3], "carry": {"x": "g"}, "context": {"inference": false, "default_dtype": "float64", "thread": true}, "backward": {"of": ["g", "q"]}})"),
                                         literals);
  ASSERT_TRUE(program) << to_string(program.error());
  const LiteralText literal = [](std::size_t k) { return "tensor " + std::to_string(k); };
  EXPECT_EQ(print(*program, literal),
            "  with inference=false, default_dtype=float64, thread=true:\n"
            "    t = tensor 0\n"
            "    a, _ = aten::f.default(x, 0, k=0.5)\n"
            "    torch.f_(k=1)\n"
            "    b = a[..., None, 0::2, :n, [0, 1]]\n"
            "    b[0] = -inf\n"
            "    q = mul(n, 2.5)\n"
            "    with grad=true, autocast=cpu bfloat16 off:\n"
            "      g, h = grad(of=[b], wrt=[x, a])\n"
            "  return g, q, g, None, 3\n"
            "  backward of [\"g\",\"q\"]\n"
            "  the next call gets g as x\n");
}

TEST(Print, AStepSaysWhereItComesFromIfAsked) {
  Program program;
  program.steps = {
      {{"y"}, ScalarCall{"abs", {{Ref{"n"}}}}, SourceLine{"a/net.py", 8, "Net.forward"}},
      {{}, WithBlock{{}, {{{"z"}, ScalarCall{"neg", {{Ref{"y"}}}}, SourceLine{"b.py", 9}}}}}};
  const LiteralText literal = [](std::size_t) { return ""; };
  EXPECT_EQ(print(program.steps, literal, "", WithSources::yes),
            "y = abs(n)  # a/net.py:8 in Net.forward\nwith :\n  z = neg(y)  # b.py:9\n");
  EXPECT_EQ(print(program.steps, literal, ""), "y = abs(n)\nwith :\n  z = neg(y)\n");
}

}  // namespace
}  // namespace lockstep
