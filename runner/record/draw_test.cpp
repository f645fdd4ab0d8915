#include "record/draw.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

std::size_t drawn(std::uint64_t seed, double percent) {
  std::size_t count = 0;
  for (int i = 0; i < 10000; ++i) count += is_drawn(seed, percent, fmt::format("a/{}@cpu/b", i));
  return count;
}

TEST(Draw, TakesAboutThatPart) {
  EXPECT_EQ(drawn(1, 0), 0U);
  EXPECT_EQ(drawn(1, 100), 10000U);
  EXPECT_NEAR(static_cast<double>(drawn(1, 10)), 1000, 150);
  EXPECT_NEAR(static_cast<double>(drawn(2, 5)), 500, 110);
}

TEST(Draw, IsAnotherOneWithAnotherSeed) {
  EXPECT_EQ(is_drawn(3, 10, "a@cpu/b"), is_drawn(3, 10, "a@cpu/b"));
  std::size_t both = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::string id = fmt::format("a/{}@cpu/b", i);
    both += is_drawn(3, 10, id) && is_drawn(4, 10, id);
  }
  EXPECT_NEAR(static_cast<double>(both), 100, 50);
}

TEST(Draw, IsTheSameEverywhere) {
  // What a seed takes is in logs that others check.
  std::string taken;
  for (int i = 0; i < 20; ++i) taken += is_drawn(7, 50, fmt::format("case/{}", i)) ? '1' : '0';
  EXPECT_EQ(taken, "11110110010000001100");
}

}  // namespace
}  // namespace lockstep
