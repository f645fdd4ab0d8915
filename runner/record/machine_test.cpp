#include "record/machine.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Machine, KnowsWhereItIs) {
  const Json machine = machine_environment();
  EXPECT_FALSE(machine["cpu"].get<std::string>().empty());
  EXPECT_GT(physical_memory(), 1 << 28);
  EXPECT_EQ(utc_now().size(), 20U);
}

}  // namespace
}  // namespace lockstep
