#include "base/gold.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/fixtures.h"

namespace lockstep {
namespace {

// LOCKSTEP_RENEW=1 writes it.
TEST(Gold, TheProtocolHasTheTable) {
  std::vector<std::string> rows;
  for (const GoldInfo& each : all_golds())
    rows.push_back(fmt::format("| `{}` | {} |", each.name, each.meaning));
  expect_table("docs/design/protocol.md", "| `mode` | computes |", rows);
}

TEST(Gold, NamesFindTheirRows) {
  for (const GoldInfo& each : all_golds()) EXPECT_EQ(find_gold(each.name), each.gold);
  EXPECT_EQ(find_gold("plain"), std::nullopt);
}

// Else nobody ever asks for it, or it is asked for in two rounds.
TEST(Gold, WhatSaysMoreOfAnotherComesAfterIt) {
  for (const GoldInfo& each : all_golds()) {
    EXPECT_LE(each.of, each.gold) << each.name;
    EXPECT_EQ(info(each.of).of, each.of) << each.name << " says more of one that stands alone";
    const bool late = each.asked == GoldAsked::failing || each.asked == GoldAsked::failing_read;
    EXPECT_TRUE(!late || each.of != each.gold) << each.name;
    EXPECT_TRUE(!each.better || (each.of != each.gold && !each.samples)) << each.name;
  }
}

TEST(Gold, ASetHasWhatItWasMadeOf) {
  constexpr GoldSet kSome = gold_set({Gold::mpfr, Gold::stepwise_noise});
  static_assert(kSome[Gold::mpfr] && !kSome[Gold::fp64]);
  EXPECT_NE(kSome, GoldSet());
  EXPECT_EQ(enumerators<Gold>(), all_golds().size());
}

}  // namespace
}  // namespace lockstep
