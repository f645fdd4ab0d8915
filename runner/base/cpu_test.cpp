#include "base/cpu.h"

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

TEST(Cpu, FeaturesAreWholeWordsInAFixedOrder) {
  EXPECT_THAT(cpu_features("fpu avx2x fma avx512_fp16 avx2", ""),
              ElementsAre("avx2", "fma", "avx512_fp16"));
  EXPECT_THAT(cpu_features("", ""), ElementsAre());
}

TEST(Cpu, WhatOnednnMayNotUseIsLeftOut) {
  const auto with = [](const char* limit) {
    return cpu_features("avx2 avx512f avx512_bf16 avx512_fp16 amx_bf16 amx_int8", limit);
  };
  EXPECT_THAT(with("AVX2"), ElementsAre("avx2", "avx512f"));
  EXPECT_THAT(with("avx512_core_bf16"), ElementsAre("avx2", "avx512f", "avx512_bf16"));
  EXPECT_THAT(with("AVX10_1_512"), ElementsAre("avx2", "avx512f", "avx512_bf16", "avx512_fp16"));
  EXPECT_EQ(with("AVX512_CORE_AMX").size(), 6U);
  EXPECT_EQ(with("DEFAULT").size(), 6U);
  EXPECT_EQ(with("of a newer oneDNN").size(), 6U);
}

TEST(CpuLevel, IsSpelledAsTorchTakesIt) {
  EXPECT_EQ(cpu_level_of("AVX512"), "avx512");
  EXPECT_EQ(cpu_level_of("DEFAULT"), "default");
  EXPECT_EQ(cpu_level_of("NO AVX"), "default");
  EXPECT_EQ(cpu_level_of("SVE256"), "sve256");
}

}  // namespace
}  // namespace lockstep
