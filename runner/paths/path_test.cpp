#include "paths/path.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fixtures.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A path that compiles, with more keys.
Path path_of(const std::string& name, const std::string& keys) {
  const std::string text = fmt::format(
      R"({{"format": 2, "name": "{}", "title": "t", "contract": "bits", "worker": "compiled", {}}})",
      name, keys);
  Diagnostics diagnostics;
  auto path = decode_path({name + ".json", text, Json::parse(text)}, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << to_string(diagnostic);
  return *path;
}

std::vector<std::string> faults(const std::vector<Path>& paths) {
  Diagnostics diagnostics;
  check_ladder(paths, diagnostics);
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : diagnostics) texts.push_back(to_string(diagnostic));
  return texts;
}

TEST(Paths, StandOnTheLayerThatTheyName) {
  EXPECT_EQ(path_of("mine", R"("backend": "mine", "above": "aot_eager")").above, "aot_eager");
  EXPECT_EQ(path_of("mine", R"("backend": "mine", "layer": "Ours")").layer, "Ours");
  EXPECT_EQ(path_of("mine", R"("backend": "mine", "above": null)").above, "");
  // What any backend of Dynamo gets, `eager` executes.
  EXPECT_EQ(path_of("mine", R"("backend": "mine")").above, "eager");
  EXPECT_EQ(path_of("mine", R"("backend": "mine")").declared["above"], "eager");
  EXPECT_EQ(path_of("torchs", R"("backend": "inductor")").above, "");
  EXPECT_EQ(path_of("plain", R"("backend": null)").above, "");
}

TEST(Paths, NameTheEagerThatTheyAreComparedWith) {
  EXPECT_EQ(path_of("mine", R"("backend": "mine")").reference, Site());
  const Path kernels = path_of("mine", R"("backend": null, "reference": {"device": "cpu"})");
  EXPECT_EQ(kernels.reference, (Site{"cpu", "", 0}));
  EXPECT_EQ(describe(kernels.reference, "cuda:0"), "on cpu");
  EXPECT_EQ(describe(kernels.reference, "cpu"), "");
  for (const char* wrong : {R"({"device": ""})", R"({"device": "CPU"})", R"({"device": 1})",
                            R"({"devices": "cpu"})", R"("cpu")"}) {
    const std::string text = fmt::format(
        R"({{"format": 2, "name": "a", "title": "t", "contract": "bits", "worker": "eager", "reference": {}}})",
        wrong);
    Diagnostics diagnostics;
    decode_path({"a.json", text, Json::parse(text)}, diagnostics);
    EXPECT_EQ(diagnostics.size(), 1U) << wrong;
  }
}

TEST(Paths, ALadderHasNoMisspeltLayersAndNoCircles) {
  const Path low = path_of("low", R"("backend": null)");
  EXPECT_THAT(faults({low, path_of("high", R"("backend": "inductor", "above": "low")")}),
              IsEmpty());
  EXPECT_THAT(faults({low, path_of("high", R"("backend": "inductor", "above": "lwo")")}),
              ElementsAre(AllOf(HasSubstr("found `lwo`, expected the name of a path"),
                                HasSubstr("did you mean `low`?"))));
  EXPECT_THAT(faults({path_of("a", R"("backend": "inductor", "above": "b")"),
                      path_of("b", R"("backend": "inductor", "above": "a")")}),
              ElementsAre(HasSubstr("found `b`, which leads back to this path"),
                          HasSubstr("found `a`, which leads back to this path")));
  // A suite of one's own may do without a layer.
  EXPECT_THAT(
      faults({path_of("inductor", R"("backend": "inductor", "above": "aot_eager_decomp")")}),
      IsEmpty());
  EXPECT_THAT(faults({path_of("mine", R"("backend": "mine")")}), IsEmpty());
}

/// What is wrong with a path of these keys.
std::string fault_of(const std::string& keys) {
  const std::string text = fmt::format(
      R"({{"format": 2, "name": "p", "title": "t", "contract": "bits", "worker": "compiled", {}}})",
      keys);
  Diagnostics diagnostics;
  decode_path({"p.json", text, Json::parse(text)}, diagnostics);
  return diagnostics.empty() ? ""
                             : diagnostics.front().pointer + ": " + diagnostics.front().message;
}

TEST(Paths, ANameHasNoDotWhichSeparatesAVariant) {
  const std::string text =
      R"({"format": 2, "name": "mine.avx2", "title": "t", "contract": "bits", "worker": "eager"})";
  Diagnostics diagnostics;
  decode_path({"p.json", text, Json::parse(text)}, diagnostics);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics.front().message,
            "found the string \"mine.avx2\", expected a name of lower-case letters, digits, `_` "
            "and `-`; a dot "
            "is followed by a variant's name");
}

TEST(Paths, OptionsAreScalarsAndExcludeAMode) {
  EXPECT_EQ(
      fault_of(R"("backend": "inductor", "options": {"a": 1, "b": false, "c": "d", "e": null})"),
      "");
  EXPECT_EQ(fault_of(R"("backend": "inductor", "mode": null, "options": {"a": 1.5})"), "");
  EXPECT_EQ(fault_of(R"("backend": "inductor", "mode": "max-autotune", "options": null)"), "");
  EXPECT_EQ(fault_of(R"("backend": "inductor", "options": ["a"])"),
            "/options: found the list [\"a\"], expected an object of values by name, or null");
  EXPECT_THAT(fault_of(R"("backend": "inductor", "options": {"a": [1]})"),
              HasSubstr("/options/a: found the list [1], expected a string, a number"));
  EXPECT_EQ(fault_of(R"("backend": "inductor", "mode": "default", "options": {})"),
            "/options: found `options` beside `mode`: torch.compile takes one of them");
}

TEST(Paths, NoSettingKeepsProgramsFromTheBackend) {
  const auto config = [](const std::string& entry) {
    return fault_of(R"("backend": "mine", "config": {)" + entry + "}");
  };
  EXPECT_EQ(config(R"("torch._dynamo.config.disable": true)"),
            "/config/torch._dynamo.config.disable: found true, expected false: with it, no program "
            "reaches the backend");
  EXPECT_EQ(
      config(R"("torch._dynamo.config.recompile_limit": 0)"),
      "/config/torch._dynamo.config.recompile_limit: found the number 0, expected an integer, "
      "1 or more: past it, programs run eagerly");
  for (const char* wrong :
       {R"("torch._dynamo.config.disable": 1)", R"("torch._dynamo.config.disable": null)",
        R"("torch._dynamo.eval_frame.config.disable": true)",
        R"("mine.torch._dynamo.config.disable": true)",
        R"("torch._dynamo.config.suppress_errors": true)",
        R"("torch.compiler.config.recompile_limit": -1)",
        R"("torch._dynamo.config.recompile_limit": 0.5)",
        R"("torch._dynamo.config.recompile_limit": false)",
        R"("torch._dynamo.config.cache_size_limit": 0)",
        R"("torch._dynamo.config.accumulated_recompile_limit": 0)",
        R"("torch._dynamo.config.accumulated_cache_size_limit": 0)",
        R"("torch._dynamo.config.debug_backend_override": ">=0:eager")",
        R"("torch._dynamo.config.debug_dynamo_config_override": "0:disable=True")",
        R"("torch._dynamo.config.repro_after": "dynamo")",
        R"("lockstep_worker.witness.EAGER": "path")"})
    EXPECT_THAT(config(wrong), HasSubstr(", expected ")) << wrong;
  for (const char* right :
       {R"("torch._dynamo.config.disable": false)", R"("torch._dynamo.config.recompile_limit": 1)",
        R"("torch._dynamo.config.recompile_limit": 18446744073709551615)",
        R"("torch._dynamo.config.debug_backend_override": "")",
        R"("torch._dynamo.config.repro_after": null)",
        R"("torch._dynamo.config.capture_dynamic_output_shape_ops": true)",
        R"("mine.config.disable": true)"})
    EXPECT_EQ(config(right), "") << right;
}

TEST(Paths, NoVariableKeepsProgramsFromTheBackend) {
  const auto environment = [](const std::string& entry) {
    return fault_of(R"("backend": "mine", "environment": {)" + entry + "}");
  };
  EXPECT_EQ(environment(R"("TORCH_COMPILE_DISABLE": "1")"),
            "/environment/TORCH_COMPILE_DISABLE: found the string \"1\", expected `0` or an empty "
            "string: with it, no program reaches the backend");
  for (const char* wrong :
       {R"("TORCHDYNAMO_DISABLE": "1")", R"("TORCHDYNAMO_DEBUG_FUNCTION": "none")",
        R"("TORCHDYNAMO_SUPPRESS_ERRORS": "0")",  // to torch any text is yes
        R"("TORCH_COMPILE_OVERRIDE_BACKENDS": ">=0:eager")",
        R"("TORCH_COMPILE_OVERRIDE_DYNAMO_CONFIGS": ">=0:disable=True")",
        R"("TORCHDYNAMO_REPRO_AFTER": "dynamo")"})
    EXPECT_THAT(environment(wrong), HasSubstr("an empty string: ")) << wrong;
  for (const char* right : {R"("TORCHDYNAMO_DISABLE": "0")", R"("TORCH_COMPILE_DISABLE": "")",
                            R"("TORCH_LOGS": "graph_code")"})
    EXPECT_EQ(environment(right), "") << right;
}

TEST(Paths, ExportInThePlaceOfCompiling) {
  const Path package = path_of("aoti", R"("export": "aot_inductor")");
  EXPECT_TRUE(package.compiles && package.packages && package.torchs_own);
  EXPECT_EQ(package.declared["executes"], "inductor");
  const Path eager = path_of("export", R"("export": "eager", "backend": null)");
  EXPECT_TRUE(eager.compiles && !eager.packages);
  EXPECT_EQ(eager.declared["executes"], "aten");
  EXPECT_FALSE(path_of("plain", R"("export": null)").compiles);
  EXPECT_THAT(fault_of(R"("export": "onnx")"),
              HasSubstr("/export: found the string \"onnx\", expected `eager`, `aot_inductor`"));
  EXPECT_EQ(fault_of(R"("export": "eager", "backend": "inductor")"),
            "/backend: found `backend` beside `export`: that is torch.compile's");
  EXPECT_THAT(fault_of(R"("export": "eager", "mode": "default")"),
              HasSubstr("/mode: found `mode`"));
  Diagnostics diagnostics;
  const std::string text =
      R"({"format": 2, "name": "p", "title": "t", "contract": "bits", "worker": "eager", "export": "eager"})";
  EXPECT_FALSE(decode_path({"p.json", text, Json::parse(text)}, diagnostics));
  EXPECT_THAT(diagnostics.front().message, HasSubstr("another worker beside `export`"));
}

}  // namespace
}  // namespace lockstep
