#include "cases/resolve.h"

#include <gtest/gtest.h>

#include "cases/suite.h"
#include "cases/testdata/registry.h"

namespace lockstep {
namespace {

/// The overload that a call without one means, or the message.
std::string overload_of(const std::string& op, const std::string& args,
                        const std::string& kwargs = "{}") {
  const JsonFile file{
      "t.json", "{\"op\": \"" + op + "\", \"args\": " + args + ", \"kwargs\": " + kwargs + "}", {}};
  const Json root = Json::parse(file.text);
  Diagnostics diagnostics;
  Reader reader(file, diagnostics);
  Scope scope;
  for (const char* name : {"x", "w", "b", "i"})
    scope.names.emplace_back(name, Scope::Name{ValueKind::tensor, "", true});
  for (const char* name : {"n", "s"})
    scope.names.emplace_back(name, Scope::Name{ValueKind::scalar, "", true});
  scope.names.emplace_back("list", Scope::Name{ValueKind::tensor_list, "", true});
  const auto resolved =
      resolve(reader, {&root["op"], "/op"}, Node{&root["args"], "/args"},
              Node{&root["kwargs"], "/kwargs"}, {&dumped_operators(), "cpu", false}, scope);
  if (resolved) return resolved->overload->name;
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics)
    text += diagnostic.message + "\n" + diagnostic.hint;
  return text;
}

/// Common calls as people write them.  The expected overloads are those that Python's binding of
/// the same call dispatches to, or (fill_, masked_fill with a number) one that computes the same.
TEST(Resolve, CommonCallsMeanWhatPythonMeans) {
  struct Call {
    const char *op, *args, *kwargs, *overload;
  };
  for (const Call& call : std::initializer_list<Call>{
           {"add", R"(["%x", "%w"])", "{}", "Tensor"},
           {"add", R"(["%x", 2])", "{}", "Tensor"},
           {"add", R"(["%x", 2.5])", R"({"alpha": 3})", "Tensor"},
           {"add", R"(["%x", "%s"])", "{}", "Tensor"},
           {"sub", R"(["%x", 1])", "{}", "Tensor"},
           {"mul", R"(["%x", "inf"])", "{}", "Tensor"},
           {"div", R"(["%x", "%w"])", "{}", "Tensor"},
           {"div", R"(["%x", 2])", R"({"rounding_mode": "floor"})", "Tensor_mode"},
           {"pow", R"(["%x", 2])", "{}", "Tensor_Scalar"},
           {"pow", R"(["%x", "%w"])", "{}", "Tensor_Tensor"},
           {"pow", R"([2, "%x"])", "{}", "Scalar"},
           {"sum", R"(["%x"])", "{}", "default"},
           {"sum", R"(["%x", 1])", "{}", "dim_IntList"},
           {"sum", R"(["%x"])", R"({"dim": [0, 1], "keepdim": true})", "dim_IntList"},
           {"sum", R"(["%x"])", R"({"dtype": "float64"})", "default"},
           {"mean", R"(["%x"])", "{}", "default"},
           {"mean", R"(["%x", [1]])", "{}", "dim"},
           {"prod", R"(["%x", 1])", "{}", "dim_int"},
           {"all", R"(["%b"])", "{}", "default"},
           {"all", R"(["%b", 0])", "{}", "dim"},
           {"all", R"(["%b", [0, 1]])", "{}", "dims"},
           {"any", R"(["%b"])", "{}", "default"},
           {"var", R"(["%x"])", "{}", "default"},
           {"var", R"(["%x", [1]])", R"({"correction": 0})", "correction"},
           {"std_mean", R"(["%x"])", "{}", "default"},
           {"arange", "[5]", "{}", "default"},
           {"arange", "[0, 5]", "{}", "start"},
           {"arange", "[0, 5, 2]", R"({"dtype": "float32"})", "start_step"},
           {"conv2d", R"(["%x", "%w"])", "{}", "default"},
           {"conv2d", R"(["%x", "%w", null, [1, 1], "same"])", "{}", "padding"},
           {"conv2d", R"(["%x", "%w", "%b", 1, 1])", "{}", "default"},
           {"clamp", R"(["%x"])", R"({"min": 0})", "default"},
           {"clamp", R"(["%x", 0, 1])", "{}", "default"},
           {"clamp", R"(["%x", "%w"])", "{}", "Tensor"},
           {"clamp", R"(["%x", null, "%w"])", "{}", "Tensor"},
           {"to", R"(["%x", "float16"])", "{}", "dtype"},
           {"to", R"(["%x", "%w"])", "{}", "other"},
           {"to", R"(["%x", "cpu", "float16"])", "{}", "device"},
           {"to", R"(["%x"])", R"({"dtype": "float16"})", "dtype"},
           {"to", R"(["%x"])", R"({"device": "cpu"})", "dtype_layout"},
           {"max", R"(["%x"])", "{}", "default"},
           {"max", R"(["%x", 1])", "{}", "dim"},
           {"max", R"(["%x", "%w"])", "{}", "other"},
           {"median", R"(["%x", 1])", "{}", "dim"},
           {"sort", R"(["%x"])", "{}", "default"},
           {"sort", R"(["%x"])", R"({"stable": true})", "stable"},
           {"transpose", R"(["%x", 0, 1])", "{}", "int"},
           {"split", R"(["%x", [1, 2]])", "{}", "sizes"},
           {"cat", R"([["%x", "%w"], 1])", "{}", "default"},
           {"cat", R"(["%list"])", "{}", "default"},
           {"where", R"(["%b", "%x", "%w"])", "{}", "self"},
           {"where", R"(["%b", "%x", 0])", "{}", "ScalarOther"},
           {"full", "[[2], 1]", "{}", "default"},
           {"zeros", "[[2, 3]]", "{}", "default"},
           {"softmax", R"(["%x", 1])", "{}", "int"},
           {"argmax", R"(["%x"])", "{}", "default"},
           {"select", R"(["%x", 0, "%n"])", "{}", "int"},
           {"squeeze", R"(["%x"])", "{}", "default"},
           {"squeeze", R"(["%x", 1])", "{}", "dim"},
           {"flatten", R"(["%x", 1])", "{}", "using_ints"},
           {"linspace", "[0, 1, 5]", "{}", "default"},
           {"eq", R"(["%x", "%w"])", "{}", "Tensor"},
           {"fill_", R"(["%x", 1])", "{}", "Tensor"},
           {"masked_fill", R"(["%x", "%b", 0])", "{}", "Tensor"},
           {"masked_fill", R"(["%x", "%b", "%w"])", "{}", "Tensor"}}) {
    EXPECT_EQ(overload_of(call.op, call.args, call.kwargs), call.overload)
        << call.op << call.args << call.kwargs;
  }
}

TEST(Resolve, AmbiguityListsWhatToWrite) {
  const std::string said = overload_of("pow", "[2, 3]");
  EXPECT_NE(said.find("pow.Tensor_Scalar("), std::string::npos) << said;
}

TEST(Resolve, VariantsThatWriteToOutAreOnlyTakenByName) {
  EXPECT_EQ(overload_of("sort", R"(["%x"])", R"({"values": "%w", "indices": "%i"})")
                .find("no overload of"),
            0U);
  EXPECT_EQ(overload_of("sort.values", R"(["%x"])", R"({"values": "%w", "indices": "%i"})"),
            "values");
}

TEST(Resolve, TwoPercentSignsBeginAString) {
  EXPECT_EQ(overload_of("div", R"(["%x", 2])", R"({"rounding_mode": "%%floor"})"), "Tensor_mode");
  EXPECT_EQ(overload_of("gelu", R"(["%x"])", R"({"approximate": "%%x"})"), "default");
  EXPECT_EQ(overload_of("relu", R"(["%%x"])").find("found the string \"%%x\""), 0U);
}

}  // namespace
}  // namespace lockstep
