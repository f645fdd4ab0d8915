#include "expectations/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

TEST(Conditions, AreWhatTheMachineAndTorchSayOfThemselves) {
  const Json machine = {{"cpu_features", "avx2 fma"}, {"torch", "1.0"}, {"cores", 2}};
  const Json eager = {{"torch", "2.13.0+cpu"}, {"cpu_capability", "NO AVX"}, {"cores", 7}};
  ExpectationConditions found = conditions_of(machine, eager, "2026-11-21");
  EXPECT_EQ(found.torch, "2.13.0+cpu");
  EXPECT_EQ(found.cpu_level, "default");
  EXPECT_THAT(found.cpu_features, ElementsAre("avx2", "fma"));
  EXPECT_EQ(found.today, "2026-11-21");
  EXPECT_EQ(found.environment["cores"], "2") << "the machine's word counts";
  EXPECT_TRUE(found.cpu_of_paths.empty());
}

// A log is a stranger's.
TEST(Conditions, BearWhatIsNoText) {
  const ExpectationConditions found =
      conditions_of({{"cpu_features", {"avx2"}}}, {{"torch", 2}, {"cpu_capability", nullptr}}, "");
  EXPECT_EQ(found.torch, "");
  EXPECT_EQ(found.cpu_level, "");
  EXPECT_TRUE(found.cpu_features.empty());
  EXPECT_TRUE(conditions_of({}, "a text", "").environment.empty());
}

TEST(Conditions, OfAPathWithACpuLevelAreThoseOfItsLevel) {
  Path plain, variant;
  plain.name = "inductor";
  variant.name = "inductor.avx2";
  variant.site.cpu_level = "avx2";
  variant.environment = {{"ONEDNN_MAX_CPU_ISA", "AVX2"}};
  const auto found = cpu_conditions_of(std::vector{plain, variant}, "fpu avx2 avx512_fp16");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at("inductor.avx2").level, "avx2");
  EXPECT_THAT(found.at("inductor.avx2").features, ElementsAre("avx2"));
}

}  // namespace
}  // namespace lockstep
