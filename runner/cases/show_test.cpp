#include "cases/show.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "cases/decode.h"

namespace lockstep {
namespace {

std::string shown(const std::string& text, WithSources sources = WithSources::no) {
  const Registry registry = *Registry::read(std::filesystem::path(LOCKSTEP_SOURCE_DIR) /
                                            "runner/cases/testdata/schemas.json");
  Diagnostics diagnostics;
  JsonFile file{"t.json", text, {}};
  parse_json(file, diagnostics);
  const auto declared = decode_case(file, file.root, "t", {&registry, "cpu", false}, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << to_string(diagnostic);
  return declared ? show_case(*declared, "t@cpu", sources) : "";
}

TEST(Show, ReadsAsAProgram) {
  const std::string text = shown(R"case({"format": 1, "title": "a title",
    "links": ["https://example.org/1"], "requires": {"torch": ">=2.14"}, "context": {"grad": false},
    "inputs": {"x": {"dtype": "float32", "values": [1, "-0.0", "nan"]}, "n": {"int": 3}},
    "steps": [{"let": "a", "get": "%x[..., 0::2]"}, {"let": "q", "scalar": ["mul", "%n", 2.5]},
              {"let": "t", "tensor": {"dtype": "int64", "values": [7]}},
              {"let": [null, "i"], "op": "max", "args": ["%a", 0]},
              {"let": "y", "op": "add", "args": ["%x", "%q"], "kwargs": {"alpha": 2}},
              {"with": {"grad": true}, "steps": [{"set": "%y[0]", "to": "-inf"}]}],
    "outputs": ["y", "i", "t"], "compare": {"y": {"inductor": "ulp(2)"}}})case");
  for (const char* line :
       {"t@cpu\n  a title\n  https://example.org/1\n  requires torch >=2.14\n", "1, -0, nan\n",
        "  n       3\n", "a = x[..., 0::2]\n", "q = mul(n, 2.5)\n", "_, i = aten::max.dim(a, 0)\n",
        "y = aten::add.Tensor(x, q, alpha=2)\n", "with grad=true:\n", "return y, i, t\n",
        "ulp(2) on inductor"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n---\n" << text;
  }
}

TEST(Show, SaysWhereStepsComeFromIfAsked) {
  const char* const text = R"case({"format": 1, "title": "t", "inputs": {"n": {"int": 3}},
    "steps": [{"let": "y", "scalar": ["abs", "%n"],
               "source": {"file": "a/net.py", "line": 8, "name": "Net.forward"}}], "outputs": ["y"]})case";
  EXPECT_NE(shown(text, WithSources::yes).find("y = abs(n)  # a/net.py:8 in Net.forward\n"),
            std::string::npos);
  EXPECT_EQ(shown(text).find("net.py"), std::string::npos) << "verdicts of the same program agree";
}

TEST(Show, SaysWhatIsUnusualOfACase) {
  const std::string text = shown(R"case({"format": 1, "title": "t", "unverified": "no such device",
    "requires": {"lockstep": ">=0.1"}, "inputs": {
      "w": {"dtype": "float32", "values": [1], "constant": true},
      "z": {"dtype": "float16", "shape": [2, 3], "zero_tensor": true, "requires_grad": true}},
    "steps": [{"let": "y", "op": "relu", "args": ["%w"]}], "outputs": ["y", "z"]})case");
  for (const char* part : {"unverified: no such device", "strides [1] constant   values",
                           "float16[2, 3] strides [3, 1] requires_grad   zero tensor\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n---\n" << text;
  }
  EXPECT_EQ(shown(R"case({"title": "t", "requires": {"lockstep": ">=99"}, "steps": 1})case"),
            "t@cpu\n  t\n  needs Lockstep >=99, this is " LOCKSTEP_VERSION "\n");
}

TEST(Show, NegativeNumbersAndBoundariesOfEveryKind) {
  const std::string text = shown(R"case({"format": 1, "title": "t", "inputs": {
      "i": {"dtype": "int8", "values": [-128, 127]}, "u": {"dtype": "uint64", "values": [18446744073709551615]},
      "z": {"dtype": "complex64", "values": [{"complex": [1, -2]}]}, "b": {"dtype": "bool", "values": [true, false]},
      "q": {"dtype": "qint8", "values": [-3], "quantizer": {"scheme": "per_tensor_affine", "scale": 0.25, "zero_point": -1}}},
    "steps": [{"let": "y", "op": "relu", "args": ["%i"]}], "outputs": ["y", "u", "z", "b", "q"]})case");
  for (const char* part : {"-128, 127", "18446744073709551615", "1-2j", "true, false",
                           "per_tensor_affine scale 0.25 zero point -1"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n---\n" << text;
  }
}

/// What a case declares costs nothing until it runs: 32 TiB are shown by their first elements.
TEST(Show, HugeTensorsAreCut) {
  for (const char* fill : {"\"normal\"", "\"special\"", "{\"permutation\": {}, \"seed\": 1}"}) {
    const std::string text = shown(
        R"case({"format": 1, "title": "t", "inputs": {"x": {"dtype": "float32", "shape": [8796093022208], "fill": )case" +
        std::string(fill) +
        R"case(}}, "steps": [{"let": "y", "op": "relu", "args": ["%x"]}], "outputs": ["y"]})case");
    EXPECT_NE(text.find("8796093022208"), std::string::npos);
    EXPECT_LT(text.size(), 2000U);
  }
}

}  // namespace
}  // namespace lockstep
