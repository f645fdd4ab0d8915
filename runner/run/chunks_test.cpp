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

// Whatever is taken, put back and lost: every item that is not skipped comes once in the end,
// beside those of its graph.
TEST(Chunks, HaveEveryItemOnce) {
  std::uint64_t seed = 5;
  for (int round = 0; round < 200; ++round) {
    const Plan plan = plan_of_graphs(splitmix64(seed) % 80, splitmix64(seed));
    std::vector<bool> skip(plan.items.size());
    for (std::size_t i = 0; i < skip.size(); ++i) skip[i] = splitmix64(seed) % 4 == 0;
    ChunkPool pool(plan, skip, long_tailed(plan, splitmix64(seed)));
    std::map<std::size_t, int> taken;
    while (!pool.empty()) {
      const bool lost = pool.has_lost() && (!pool.has_more() || splitmix64(seed) % 2 == 0);
      const Chunk chunk = lost ? pool.take_lost() : pool.take(1 + splitmix64(seed) % 4, 8);
      ASSERT_FALSE(chunk.items.empty());
      EXPECT_EQ(chunk.alone, lost);
      std::set<std::size_t> graphs;
      for (const std::size_t item : chunk.items) {
        EXPECT_FALSE(skip[item]);
        graphs.insert(graph_of(plan, item));
        ++taken[item];
      }
      EXPECT_TRUE(!lost || graphs.size() == 1) << "what was lost is alone";
      if (splitmix64(seed) % 3 != 0) continue;
      for (const std::size_t item : chunk.items) --taken[item];
      splitmix64(seed) % 2 == 0 ? pool.put_back(chunk.items) : pool.put_lost(chunk.items);
    }
    for (std::size_t i = 0; i < skip.size(); ++i) EXPECT_EQ(taken[i], skip[i] ? 0 : 1) << i;
  }
}

// Six instances with two verdicts each share a graph of two minutes; another minute and a half
// follow.
TEST(Chunks, DivideGraphsThatTakeMoreThanAMachinesShareAndNoOthers) {
  Plan plan;
  plan.paths.resize(2);
  std::map<std::string, double> seconds;
  for (std::size_t i = 0; i < 96; ++i) {
    plan.instances.push_back({"case/" + std::to_string(i), "cpu", nullptr, 2, i < 6 ? 0 : i});
    for (const char* path : {"/a", "/b"}) {
      plan.items.push_back({i, path[1] == 'a' ? 0U : 1U, plan.instances[i].id + path, {}, 0});
      seconds[plan.items.back().id] = i < 6 ? 10 : 0.5;
    }
  }
  const std::vector<bool> skip(plan.items.size());
  ChunkPool few(plan, skip, seconds);
  EXPECT_EQ(few.take(1, 1).items.size(), 12U) << "the whole graph is less than a machine's share";
  ChunkPool many(plan, skip, seconds);
  EXPECT_EQ(many.take(1, 64).items, (std::vector<std::size_t>{0, 1})) << "an instance stays whole";
  EXPECT_EQ(many.take(1, 64).items, (std::vector<std::size_t>{2, 3}));
  const Chunk rest = many.take(8, 8);
  EXPECT_EQ(std::vector<std::size_t>(rest.items.begin(), rest.items.begin() + 8),
            (std::vector<std::size_t>{4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(Chunks, BeginWithWhatTakesLongestAndShrink) {
  const Plan plan = plan_of_graphs(3000, 1);
  const std::map<std::string, double> seconds = long_tailed(plan, 2);
  ChunkPool pool(plan, std::vector<bool>(plan.items.size()), seconds);
  std::map<std::size_t, double> graphs;
  for (std::size_t i = 0; i < plan.items.size(); ++i)
    graphs[graph_of(plan, i)] += seconds.at(plan.items[i].id);
  double before = 1e9;
  std::vector<double> sizes;
  while (!pool.empty()) {
    const Chunk chunk = pool.take(1, 4);
    for (const std::size_t item : chunk.items) {
      EXPECT_LE(graphs.at(graph_of(plan, item)), before) << "what takes longer came later";
      before = graphs.at(graph_of(plan, item));
    }
    sizes.push_back(chunk.seconds);
  }
  EXPECT_GT(sizes.front(), 20);
  EXPECT_LT(sizes.back(), 2);
}

TEST(Chunks, KeepTheOrderOfThePlanWhereNothingIsKnown) {
  const Plan plan = plan_of_graphs(100, 1);
  Plan alone = plan;
  for (std::size_t i = 0; i < alone.instances.size(); ++i) alone.instances[i].shared_graph = i;
  ChunkPool pool(alone, std::vector<bool>(100), {});
  std::size_t next = 0;
  while (!pool.empty()) {
    for (const std::size_t item : pool.take(2, 4).items) EXPECT_EQ(item, next++);
  }
  EXPECT_EQ(next, 100U);
}

TEST(Chunks, LearnHowLongThingsTake) {
  const Plan plan = plan_of_graphs(400, 1);
  ChunkPool pool(plan, std::vector<bool>(400), {});
  const Chunk first = pool.take(1, 100);
  EXPECT_LT(first.items.size(), 5U) << "each may take a second";
  const auto expected = static_cast<double>(first.items.size());
  EXPECT_EQ(pool.idle_in({first}, 1), expected);
  for (std::size_t i = 0; i < 19; ++i) pool.learn(i, 0.5);
  EXPECT_EQ(pool.idle_in({first}, 1), expected) << "too little is known";
  pool.learn(19, 0.5);
  EXPECT_EQ(pool.idle_in({first}, 1), expected / 2);
  for (std::size_t i = 20; i < 60; ++i) pool.learn(i, 0.001);
  EXPECT_EQ(pool.idle_in({first}, 1), expected / 4) << "others may take longer";
  EXPECT_GE(pool.take(1, 100).items.size(), 4U);
}

TEST(Chunks, SayWhenASlotHasNothingMoreToDo) {
  Plan plan = plan_of_graphs(4, 1);
  for (std::size_t i = 0; i < 4; ++i) plan.instances[i].shared_graph = i / 2;
  const std::map<std::string, double> seconds = {
      {"case/0/a", 1}, {"case/1/a", 2}, {"case/2/a", 4}, {"case/3/a", 8}};
  const ChunkPool pool(plan, std::vector<bool>(4), seconds);
  Chunk all, one;
  all.items = {0, 1, 2, 3};
  one.items = {3};
  EXPECT_EQ(pool.idle_in({all}, 1), 15);
  EXPECT_EQ(pool.idle_in({all}, 2), 3) << "a graph is one execution";
  EXPECT_EQ(pool.idle_in({one, one}, 2), 8);
  EXPECT_EQ(pool.idle_in({one}, 2), 0);
  EXPECT_EQ(pool.idle_in({}, 1), 0);
}

}  // namespace
}  // namespace lockstep
