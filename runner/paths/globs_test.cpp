#include "paths/globs.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

TEST(Globs, AKindOfDeviceTakesEachOfItsDevices) {
  EXPECT_TRUE(device_matches("cuda", "cuda:1"));
  EXPECT_TRUE(device_matches("cu*", "cuda:1"));
  EXPECT_TRUE(device_matches("cuda:1", "cuda:1"));
  EXPECT_FALSE(device_matches("cuda:0", "cuda:1"));
  EXPECT_FALSE(device_matches("cuda:0", "cuda"));
  EXPECT_FALSE(device_matches("c", "cuda:1"));
  const auto take = [](std::vector<std::string> globs) { return devices_take(globs, "cuda:1"); };
  EXPECT_TRUE(take({}));
  EXPECT_TRUE(take({"cuda"}));
  EXPECT_TRUE(take({"!cuda:0"}));
  EXPECT_FALSE(take({"!cuda"}));
  EXPECT_FALSE(take({"cuda", "!cuda:1"}));
  EXPECT_FALSE(take({"cpu"}));
}

TEST(Globs, VariantsAreMeantByTheNameOfTheirPathAndByTheirOwn) {
  EXPECT_TRUE(path_matches("inductor", "inductor.avx2"));
  EXPECT_TRUE(path_matches("inductor.avx2", "inductor.avx2"));
  EXPECT_FALSE(path_matches("inductor.avx2", "inductor"));
  EXPECT_FALSE(path_matches("inductor", "inductor-dynamic"));
  const std::vector<std::string> excluded = {"*", "!inductor"}, one = {"!inductor.avx2"};
  EXPECT_FALSE(paths_take(excluded, "inductor.avx2"));
  EXPECT_FALSE(paths_take(one, "inductor.avx2"));
  EXPECT_TRUE(paths_take(one, "inductor"));
}

}  // namespace
}  // namespace lockstep
