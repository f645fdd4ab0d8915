#include "paths/variants.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Path> variants_in(const std::string& keys, Diagnostics& diagnostics) {
  const std::string text = fmt::format(
      R"({{"format": 2, "name": "mine", "title": "Mine", "contract": "values", "default": true, {}}})",
      keys);
  std::vector<Path> paths;
  auto path = decode_path({"mine.json", text, Json::parse(text)}, diagnostics);
  if (path) add_paths(std::move(*path), paths, diagnostics);
  return paths;
}

std::vector<Path> good_variants(const std::string& keys) {
  Diagnostics diagnostics;
  auto paths = variants_in(keys, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << to_string(diagnostic);
  return paths;
}

TEST(Variants, ArePathsWithWorkersOfTheirOwn) {
  const auto paths = good_variants(
      R"("worker": "compiled", "backend": "inductor", "config": {"a.b": 1}, "environment": {"X": "1", "MKL_CBWR": "AUTO"},
         "variants": {"avx2": {"cpu_level": "avx2"}, "both": {"cpu_level": "default", "threads": 4}})");
  ASSERT_EQ(paths.size(), 3U);
  EXPECT_EQ(paths[0].name, "mine");
  EXPECT_TRUE(paths[0].is_default);
  EXPECT_EQ(paths[0].site, Site());
  const Path& avx2 = paths[1];
  EXPECT_EQ(avx2.name, "mine.avx2");
  EXPECT_EQ(avx2.base, "mine");
  EXPECT_EQ(avx2.title, "Mine, at avx2");
  EXPECT_EQ(avx2.above, "mine");
  EXPECT_FALSE(avx2.is_default);
  EXPECT_THAT(avx2.devices, ElementsAre("cpu"));
  EXPECT_EQ(avx2.site, (Site{"", "avx2", 0}));
  EXPECT_EQ(avx2.reference, avx2.site) << "a compiler is held against eager as it is there";
  // What the file sets itself stays.
  EXPECT_EQ(
      avx2.declared["environment"],
      Json::parse(
          R"({"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "X": "1", "MKL_CBWR": "AUTO"})"));
  EXPECT_EQ(avx2.environment.size(), 4U);
  EXPECT_EQ(avx2.declared["config"],
            Json::parse(R"({"a.b": 1, "torch._inductor.config.cpp.simdlen": 256})"));
  EXPECT_FALSE(avx2.declared.contains("variants"));
  EXPECT_EQ(avx2.declared["name"], "mine.avx2");
  const Path& both = paths[2];
  EXPECT_EQ(both.title, "Mine, at default, with 4 threads");
  EXPECT_EQ(both.reference, (Site{"", "default", 4}));
  EXPECT_EQ(both.declared["config"]["torch._inductor.config.cpp.simdlen"], 0);
  EXPECT_EQ(both.declared["threads"], 4);
}

TEST(Variants, OfEagerItselfAreHeldAgainstEagerAsTheMachineRunsIt) {
  const auto paths = good_variants(
      R"("worker": "eager", "reference": {"device": "cpu"}, "devices": ["!cpu"], "variants": {"avx2": {"cpu_level": "avx2"}, "two": {"threads": 2}})");
  ASSERT_EQ(paths.size(), 3U);
  EXPECT_EQ(paths[1].reference, (Site{"cpu", "", 0}));
  EXPECT_EQ(paths[1].site, (Site{"", "avx2", 0}));
  EXPECT_EQ(paths[1].above, "");
  EXPECT_THAT(paths[1].devices, ElementsAre("cpu"));
  EXPECT_EQ(paths[2].environment.size(), 0U);
  EXPECT_FALSE(paths[2].declared.contains("config"));
}

TEST(Variants, WhatIsWrongIsSaidWithItsPlace) {
  for (const auto& [variants, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"([])", "expected an object of variants by name"},
           {R"({"a.b": {"threads": 2}})", "found `a.b`, expected a name"},
           {R"({"a": {}})", "expected a `cpu_level`, a number of `threads`, or both"},
           {R"({"a": {"threads": 0}})", "expected 1 to 256 threads"},
           {R"({"a": {"cpu_level": "AVX2"}})", "expected a CPU level as torch names it"},
           {R"({"a": {"cpulevel": "avx2"}})", "cpu_level"}}) {
    Diagnostics diagnostics;
    variants_in(R"("worker": "eager", "variants": )" + variants, diagnostics);
    ASSERT_EQ(diagnostics.size(), 1U) << variants;
    EXPECT_THAT(to_string(diagnostics[0]), HasSubstr(expected));
    EXPECT_THAT(diagnostics[0].pointer, HasSubstr("/variants"));
  }
}

}  // namespace
}  // namespace lockstep
