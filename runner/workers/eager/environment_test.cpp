#include "workers/eager/environment.h"

#include <gtest/gtest.h>

namespace lockstep::eager {
namespace {

TEST(Environment, names_the_release_with_its_local_part) {
  const auto described = environment();
  EXPECT_TRUE(described["torch"].get<std::string>().starts_with("2."));
  EXPECT_EQ(described["torch_git"].get<std::string>().size(), 40U);
  EXPECT_EQ(described["fingerprint"], fingerprint());
  EXPECT_FALSE(described["cpu_capability"].get<std::string>().empty());
}

TEST(Environment, there_is_always_a_cpu_first) { EXPECT_EQ(devices().at(0), "cpu"); }

}  // namespace
}  // namespace lockstep::eager
