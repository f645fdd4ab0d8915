#include "paths/cpu_level.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using LevelEnvironment = std::vector<std::pair<std::string, std::string>>;

TEST(CpuLevels, AreSpelledAsTorchTakesThem) {
  EXPECT_TRUE(is_cpu_level("z_vector2"));
  for (const char* wrong : {"", "AVX2", "avx 2", "a=b", "aaaaaaaaaaaaaaaaaaaaa"})
    EXPECT_FALSE(is_cpu_level(wrong)) << wrong;
}

TEST(CpuLevels, LimitEveryLibraryThatChoosesForItself) {
  EXPECT_EQ(environment_of_cpu_level("avx2"), (LevelEnvironment{{"ATEN_CPU_CAPABILITY", "avx2"},
                                                                {"ONEDNN_MAX_CPU_ISA", "AVX2"},
                                                                {"MKL_CBWR", "AVX2"}}));
  EXPECT_EQ(environment_of_cpu_level("sve256"),
            (LevelEnvironment{{"ATEN_CPU_CAPABILITY", "sve256"}}));
  EXPECT_EQ(vector_bits_of_cpu_level("default"), 0);
  EXPECT_EQ(vector_bits_of_cpu_level("avx2"), 256);
  EXPECT_EQ(vector_bits_of_cpu_level("avx512"), 512);
  EXPECT_EQ(vector_bits_of_cpu_level("vsx"), std::nullopt);
}

}  // namespace
}  // namespace lockstep
