#include "workers/eager/environment.h"

#include <ATen/Context.h>
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

TEST(Environment, measures_whether_denormals_are_flushed) {
  EXPECT_EQ(environment()["flush_denormals"], false);
  if (!at::globalContext().setFlushDenormal(true)) GTEST_SKIP() << "this processor cannot";
  EXPECT_EQ(environment()["flush_denormals"], true);
  at::globalContext().setFlushDenormal(false);
}

TEST(Environment, there_is_always_a_cpu_first) { EXPECT_EQ(devices().at(0), "cpu"); }

}  // namespace
}  // namespace lockstep::eager
