#include "workers/eager/environment.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "workers/eager/pins.h"

namespace lockstep::eager {
namespace {

TEST(Environment, names_the_release_with_its_local_part) {
  const auto described = environment();
  EXPECT_TRUE(described["torch"].get<std::string>().starts_with("2."));
  EXPECT_EQ(described["torch_git"].get<std::string>().size(), 40U);
  EXPECT_EQ(described["operators_digest"], operators_digest());
  EXPECT_FALSE(described["cpu_capability"].get<std::string>().empty());
}

TEST(Environment, measures_whether_denormals_are_flushed) {
  EXPECT_EQ(environment()["flush_denormals"], false);
  if (!at::globalContext().setFlushDenormal(true)) GTEST_SKIP() << "this processor cannot";
  EXPECT_EQ(environment()["flush_denormals"], true);
  at::globalContext().setFlushDenormal(false);
}

// The same names and values as the compiled worker's (compiled/test_environment.py).
TEST(Environment, what_decides_last_bits_of_cuda_is_pinned) {
  const auto before = pins();
  EXPECT_EQ(before["pin cudnn_tf32"], true);
  EXPECT_EQ(before["pin cublas_fp16_reduction"], true);
  ::setenv("LOCKSTEP_PINS", "off", 1);
  pin();
  EXPECT_EQ(pins(), before);
  ::unsetenv("LOCKSTEP_PINS");
  pin();
  EXPECT_EQ(pins(), nlohmann::ordered_json::parse(R"({"pin cublas_tf32": false,
      "pin cudnn_tf32": false, "pin cudnn_deterministic": true, "pin cudnn_benchmark": false,
      "pin cublas_fp16_reduction": false, "pin cublas_bf16_reduction": false,
      "pin cublas_fp16_accumulation": false, "pin cublas_workspace": ":4096:8"})"));
  EXPECT_EQ(environment()["pin cudnn_tf32"], false);
}

TEST(Environment, names_the_cpu_levels_that_the_machine_has) {
  using Levels = std::vector<std::string>;
  const std::string avx2 = "sse4_2 avx2 fma", avx512 = avx2 + " avx512f avx512bw avx512dq avx512vl";
  EXPECT_EQ(cpu_levels("", "DEFAULT"), (Levels{"default"}));
  EXPECT_EQ(cpu_levels("sse4_2 avx2", "NO AVX"), (Levels{"default"}));
  EXPECT_EQ(cpu_levels(avx2, "AVX2"), (Levels{"default", "avx2"}));
  EXPECT_EQ(cpu_levels(avx2 + " avx512f", "AVX2"), (Levels{"default", "avx2"}));
  // What the process was told to do is not all that the machine can.
  EXPECT_EQ(cpu_levels(avx512, "AVX2"), (Levels{"default", "avx2", "avx512"}));
  EXPECT_EQ(cpu_levels("asimd sve", "SVE256"), (Levels{"default", "sve256"}));
  EXPECT_EQ(cpu_levels().front(), "default");
}

TEST(Environment, there_is_always_a_cpu_first) { EXPECT_EQ(devices().at(0), "cpu"); }

}  // namespace
}  // namespace lockstep::eager
