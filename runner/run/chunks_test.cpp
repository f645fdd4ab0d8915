#include "run/chunks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/splitmix.h"

namespace lockstep {
namespace {

/// So many instances with one verdict each; graphs of one to three neighbours, as `seed` has it.
Plan plan_of_graphs(std::size_t count, std::uint64_t seed) {
  Plan plan;
  plan.paths.resize(1);
  std::size_t graph = 0, left = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && left == 0) ++graph;
    if (left == 0) left = 1 + splitmix64(seed) % 3;
    --left;
    plan.instances.push_back({"case/" + std::to_string(i), "cpu", nullptr, 1, graph});
    plan.items.push_back({i, 0, plan.instances[i].id + "/a", {}, i});
  }
  return plan;
}

std::size_t graph_of(const Plan& plan, std::size_t item) {
  return plan.instances[plan.items[item].instance].shared_graph;
}

/// Seconds of a verdict: mostly short ones, some that take as long as hundreds of these.
std::map<std::string, double> long_tailed(const Plan& plan, std::uint64_t seed) {
  std::map<std::string, double> seconds;
  for (const PlanItem& item : plan.items) {
    const double uniform = static_cast<double>(splitmix64(seed) % 10000 + 1) / 10000;
    seconds[item.id] = 0.2 / uniform;
  }
  return seconds;
}

// Whatever is skipped and known: every other item comes once, beside those of its graph.
TEST(Chunks, AreWholeGraphsAndHaveEveryItemOnce) {
  std::uint64_t seed = 5;
  for (int round = 0; round < 200; ++round) {
    const Plan plan = plan_of_graphs(splitmix64(seed) % 80, splitmix64(seed));
    std::vector<bool> skip(plan.items.size());
    for (std::size_t i = 0; i < skip.size(); ++i) skip[i] = splitmix64(seed) % 4 == 0;
    std::map<std::size_t, std::size_t> chunk_of;
    std::vector<int> taken(plan.items.size());
    const bool known = round % 2 == 0;
    const auto chunks = chunks_of(
        plan, skip, known ? long_tailed(plan, splitmix64(seed)) : std::map<std::string, double>{});
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      ASSERT_FALSE(chunks[i].items.empty());
      for (const std::size_t item : chunks[i].items) {
        ++taken[item];
        EXPECT_TRUE(known || chunk_of.emplace(graph_of(plan, item), i).first->second == i);
      }
    }
    for (std::size_t i = 0; i < skip.size(); ++i) EXPECT_EQ(taken[i], skip[i] ? 0 : 1) << i;
  }
}

// Six instances with two verdicts each share a graph of two minutes; another minute and a half
// follow.
TEST(Chunks, DivideGraphsThatTakeFarTooLongAndNoOthers) {
  Plan plan = plan_of_graphs(96, 1);
  std::map<std::string, double> seconds;
  plan.items.clear();
  for (std::size_t i = 0; i < 96; ++i) {
    plan.instances[i].shared_graph = i < 6 ? 0 : i / 6;
    for (const char* path : {"/a", "/b"}) {
      plan.items.push_back({i, path[1] == 'a' ? 0U : 1U, plan.instances[i].id + path, {}, 0});
      seconds[plan.items.back().id] = i < 6 ? 9 : 0.5;
    }
  }
  const auto chunks = chunks_of(plan, std::vector<bool>(plan.items.size()), seconds);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(chunks[i].items, (Items{2 * i, 2 * i + 1}));
  for (std::size_t i = 6; i < chunks.size(); ++i) EXPECT_EQ(chunks[i].items.size(), 12U);
}

TEST(Chunks, KeepTheOrderOfThePlanWhereNothingIsKnown) {
  const Plan plan = plan_of_graphs(3000, 1);
  std::size_t next = 0;
  std::vector<std::size_t> sizes;
  for (const Chunk& chunk : chunks_of(plan, std::vector<bool>(3000), {})) {
    for (const std::size_t item : chunk.items) EXPECT_EQ(item, next++);
    sizes.push_back(chunk.items.size());
    EXPECT_EQ(chunk.seconds, static_cast<double>(chunk.items.size()));
  }
  EXPECT_EQ(next, 3000U);
  EXPECT_GE(sizes.front(), 11U);
  EXPECT_LE(sizes.back(), 3U);
}

// Sixty-four machines, which take what an earlier run says, or a third more or less, and take the
// next chunk when they are idle: all end at about the same time, whatever takes long.
TEST(Chunks, EndAtAboutTheSameTimeOnAllMachines) {
  constexpr std::size_t kMachines = 64;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::uint64_t random = seed;
    const Plan plan = plan_of_graphs(4000, seed);
    const std::map<std::string, double> seconds = long_tailed(plan, seed);
    std::multiset<double> idle;  // since when each is
    for (std::size_t i = 0; i < kMachines; ++i) idle.insert(0);
    double all = 0, longest = 0;
    for (const Chunk& chunk : chunks_of(plan, std::vector<bool>(4000), seconds)) {
      double takes = 0;
      for (const Items& graph : by_graph(plan, chunk.items)) {
        double sum = 0;
        for (const std::size_t item : graph)
          sum += seconds.at(plan.items[item].id) *
                 (0.67 + static_cast<double>(splitmix64(random) % 660) / 1000);
        longest = std::max(longest, sum);
        takes += sum;
      }
      all += takes;
      idle.insert(idle.extract(idle.begin()).value() + takes);
    }
    EXPECT_LT(*idle.rbegin(), 1.1 * std::max(all / kMachines, longest))
        << seed << ": " << all << " s, of which a graph took " << longest;
  }
}

}  // namespace
}  // namespace lockstep
