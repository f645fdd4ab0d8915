#include "record/alike.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Alike, PinsOfTwoWorkersThatDifferAreNamed) {
  const nlohmann::ordered_json eager = {
      {"torch", "2.13.0"}, {"pin cudnn_tf32", false}, {"pin cudnn_benchmark", false}};
  EXPECT_TRUE(other_pins(eager, eager).empty());
  // A worker of a vendor's that pins nothing says nothing.
  EXPECT_TRUE(other_pins(eager, {{"torch", "mine"}}).empty());
  EXPECT_TRUE(other_pins(nlohmann::ordered_json::object(), eager).empty());
  nlohmann::ordered_json other = eager;
  other["torch"] = "2.15.0";
  other["pin cudnn_tf32"] = true;
  const auto found = other_pins(eager, other);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key, "pin cudnn_tf32");
  EXPECT_EQ(found[0].one, false);
  EXPECT_EQ(found[0].other, true);
}

}  // namespace
}  // namespace lockstep
