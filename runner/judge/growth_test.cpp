#include "judge/growth.h"

#include <gtest/gtest.h>

#include <limits>

namespace lockstep {
namespace {

/// An output of a call that is so far off; a negative number: NaN or infinity differs.
OutputComparison output(std::string name, double distance) {
  OutputComparison made;
  made.name = std::move(name);
  made.differing = distance == 0 ? 0 : 1;
  if (distance > 0) made.max_abs = distance;
  return made;
}

TEST(Growth, HasACurveForEachOutputThatDiffers) {
  Findings free, restarted;
  free.outputs = {output("loss, call 1", 0),  output("loss, call 2", 1e-3),
                  output("loss, call 3", -1), output("same, call 1", 0),
                  output("same, call 2", 0),  output("input w, call 2", 1)};
  restarted.outputs = {output("loss, call 1", 0), output("loss, call 2", 1e-7)};
  const std::vector<Growth> found = growth_of(free, restarted);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].output, "loss");
  EXPECT_EQ(found[0].free, (std::vector<double>{0, 1e-3, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(found[0].restarted, (std::vector<double>{0, 1e-7}));
}

TEST(Growth, OfOneCallThereIsNone) {
  Findings found;
  found.outputs = {output("loss", 1)};
  EXPECT_TRUE(growth_of(found, found).empty());
}

}  // namespace
}  // namespace lockstep
