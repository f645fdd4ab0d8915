#include "base/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep {
namespace {

TEST(InParallel, EachIndexIsDoneOnce) {
  for (const std::size_t count : {0, 1, 7, 1000}) {
    std::vector<std::atomic<int>> seen(count);
    in_parallel(count, 2, [&](std::size_t i) { ++seen[i]; });
    for (const std::atomic<int>& times : seen) EXPECT_EQ(times, 1);
  }
}

TEST(InParallel, WhatIsThrownComesOut) {
  EXPECT_THROW(in_parallel(100, 2,
                           [](std::size_t i) {
                             if (i == 50) throw std::runtime_error("50");
                           }),
               std::runtime_error);
}

}  // namespace
}  // namespace lockstep
