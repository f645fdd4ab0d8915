#include "plan/shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

#include "base/splitmix.h"

namespace lockstep {
namespace {

/// A plan of so many instances on two paths; graphs of one to four neighbours, as `seed` has it.
Plan plan_of(std::size_t count, std::uint64_t seed) {
  Plan plan;
  plan.paths.resize(2);
  std::size_t graph = 0, left = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && left == 0) ++graph;
    if (left == 0) left = 1 + splitmix64(seed) % 4;
    --left;
    plan.instances.push_back({"case/" + std::to_string(i), "cpu", nullptr, 2, graph});
    for (const char* path : {"/a", "/b"})
      plan.items.push_back(
          {i, path[1] == 'a' ? 0U : 1U, plan.instances[i].id + path, {}, plan.items.size()});
  }
  return plan;
}

std::vector<std::string> ids(const Plan& plan) {
  std::vector<std::string> all;
  for (const PlanItem& item : plan.items) all.push_back(item.id);
  return all;
}

std::map<std::string, double> random_seconds(const Plan& plan, std::uint64_t seed) {
  std::map<std::string, double> seconds;
  for (const PlanItem& item : plan.items) {
    const std::uint64_t number = splitmix64(seed) % 1000;
    if (number % 5 != 0) seconds[item.id] = static_cast<double>(number) / 10;  // some are not known
  }
  return seconds;
}

// Whatever the plan and the number of shards: every item is in one shard, at its place, beside the
// others of its graph and in their order.
TEST(Shard, TakesEveryItemOnce) {
  std::uint64_t seed = 7;
  for (int round = 0; round < 300; ++round) {
    const Plan whole = plan_of(splitmix64(seed) % 60, splitmix64(seed));
    const std::map<std::string, double> seconds = random_seconds(whole, splitmix64(seed));
    const std::size_t of = 1 + splitmix64(seed) % 9;
    const auto* balanced = round % 2 == 0 ? nullptr : &seconds;
    std::map<std::size_t, std::string> found;
    std::map<std::size_t, std::set<std::size_t>> shards_of_graph;
    for (std::size_t number = 1; number <= of; ++number) {
      Plan shard = whole;
      take_shard(shard, {number, of}, balanced);
      for (std::size_t i = 0; i < shard.items.size(); ++i) {
        const PlanItem& item = shard.items[i];
        EXPECT_TRUE(found.emplace(item.place, item.id).second) << item.id;
        EXPECT_TRUE(i == 0 || shard.items[i - 1].place < item.place);
        EXPECT_EQ(shard.instances[item.instance].id + item.id.substr(item.id.rfind('/')), item.id);
        EXPECT_EQ(item.path, item.id.ends_with("/a") ? 0U : 1U);
        shards_of_graph[shard.instances[item.instance].shared_graph].insert(number);
      }
      EXPECT_EQ(shard.instances.size() * 2, shard.items.size());
    }
    ASSERT_EQ(found.size(), whole.items.size());
    for (const auto& [place, id] : found) EXPECT_EQ(id, whole.items[place].id);
    for (const auto& [graph, shards] : shards_of_graph) EXPECT_EQ(shards.size(), 1U) << graph;
  }
}

TEST(Shard, OneOfOneIsTheWholeAndNoneIsEmptyOfMany) {
  const Plan whole = plan_of(1000, 3);
  Plan same = whole;
  take_shard(same, {1, 1});
  EXPECT_EQ(ids(same), ids(whole));
  for (std::size_t number = 1; number <= 4; ++number) {
    Plan shard = whole;
    take_shard(shard, {number, 4});
    EXPECT_GT(shard.items.size(), 350U);
    EXPECT_LT(shard.items.size(), 650U);
    EXPECT_NE(shard.digest, whole.digest);
  }
}

// What is added to a suite moves nothing that was there.
TEST(Shard, DependsOnTheIdAlone) {
  Plan small = plan_of(40, 3), large = plan_of(41, 3);
  for (Instance& instance : small.instances) instance.shared_graph = SIZE_MAX;
  for (Plan* plan : {&small, &large}) {
    for (std::size_t i = 0; i < plan->instances.size(); ++i) plan->instances[i].shared_graph = i;
  }
  std::swap(large.instances.front().id, large.instances.back().id);  // and the order does not count
  for (PlanItem& item : large.items)
    item.id = large.instances[item.instance].id + item.id.substr(item.id.rfind('/'));
  take_shard(small, {2, 3});
  take_shard(large, {2, 3});
  const std::vector<std::string> before = ids(small), after = ids(large);
  for (const std::string& id : before)
    EXPECT_NE(std::find(after.begin(), after.end(), id), after.end()) << id;
  EXPECT_LE(after.size(), before.size() + 2);
}

// The bound of Graham's rule: no shard has more than the mean and one graph.
TEST(Shard, IsBalancedBySeconds) {
  std::uint64_t seed = 11;
  for (int round = 0; round < 50; ++round) {
    const Plan whole = plan_of(200, splitmix64(seed));
    std::map<std::string, double> seconds;
    std::map<std::size_t, double> graphs;
    double total = 0;
    for (const PlanItem& item : whole.items) {
      const double each = static_cast<double>(1 + splitmix64(seed) % 100);
      seconds[item.id] = each;
      graphs[whole.instances[item.instance].shared_graph] += each;
      total += each;
    }
    double greatest = 0;
    for (const auto& [graph, each] : graphs) greatest = std::max(greatest, each);
    for (std::size_t number = 1; number <= 5; ++number) {
      Plan shard = whole;
      take_shard(shard, {number, 5}, &seconds);
      double load = 0;
      for (const PlanItem& item : shard.items) load += seconds.at(item.id);
      EXPECT_LE(load, total / 5 + greatest);
    }
  }
}

TEST(Shard, IsWrittenAsNumberOf) {
  const auto none = [](const char*) { return std::string(); };
  EXPECT_EQ(*parse_shard("2/5", none), (Shard{2, 5}));
  EXPECT_EQ(*parse_shard("1/1", none), (Shard{1, 1}));
  for (const char* wrong : {"", "2", "0/5", "6/5", "2/5/6", "-1/5", "a/b", "2/", "/5", " 2/5",
                            "2/100001", "99999999999999999999/5"})
    EXPECT_EQ(parse_shard(wrong, none).error().message,
              std::string("found --shard ") + wrong + ", expected NUMBER/OF, such as 2/5, or auto");
}

TEST(Shard, AsksTheJobSystem) {
  using Variables = std::map<std::string, std::string>;
  const auto parsed = [](const Variables& variables) {
    return parse_shard("auto", [variables](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::string() : found->second;
    });
  };
  EXPECT_EQ(*parsed({{"CI_NODE_INDEX", "1"}, {"CI_NODE_TOTAL", "3"}}), (Shard{1, 3}));
  EXPECT_EQ(*parsed({{"BUILDKITE_PARALLEL_JOB", "0"}, {"BUILDKITE_PARALLEL_JOB_COUNT", "3"}}),
            (Shard{1, 3}));
  EXPECT_EQ(*parsed({{"CIRCLE_NODE_INDEX", "2"}, {"CIRCLE_NODE_TOTAL", "3"}}), (Shard{3, 3}));
  EXPECT_EQ(*parsed({{"SLURM_ARRAY_TASK_ID", "14"},
                     {"SLURM_ARRAY_TASK_MIN", "10"},
                     {"SLURM_ARRAY_TASK_STEP", "2"},
                     {"SLURM_ARRAY_TASK_COUNT", "4"}}),
            (Shard{3, 4}));
  EXPECT_EQ(*parsed({{"SLURM_ARRAY_TASK_ID", "1"},
                     {"SLURM_ARRAY_TASK_MIN", "1"},
                     {"SLURM_ARRAY_TASK_COUNT", "4"}}),
            (Shard{1, 4}));
  EXPECT_EQ(*parsed({{"JOB_COMPLETION_INDEX", "4"}, {"LOCKSTEP_SHARD_COUNT", "5"}}), (Shard{5, 5}));
  // What is said to Lockstep itself counts first.
  EXPECT_EQ(*parsed({{"LOCKSTEP_SHARD", "2/7"}, {"CI_NODE_INDEX", "1"}, {"CI_NODE_TOTAL", "3"}}),
            (Shard{2, 7}));
  EXPECT_NE(parsed({{"LOCKSTEP_SHARD", "7"}}).error().message.find("LOCKSTEP_SHARD=7"),
            std::string::npos);
  EXPECT_NE(parsed({{"JOB_COMPLETION_INDEX", "4"}}).error().message.find("LOCKSTEP_SHARD_COUNT"),
            std::string::npos);
  EXPECT_NE(parsed({}).error().message.find("CI_NODE_INDEX"), std::string::npos);
  for (const Variables& wrong : {Variables{{"CI_NODE_INDEX", "0"}, {"CI_NODE_TOTAL", "3"}},
                                 Variables{{"CI_NODE_INDEX", "4"}, {"CI_NODE_TOTAL", "3"}},
                                 Variables{{"CI_NODE_INDEX", "x"}, {"CI_NODE_TOTAL", "3"}},
                                 Variables{{"SLURM_ARRAY_TASK_ID", "9"},
                                           {"SLURM_ARRAY_TASK_MIN", "10"},
                                           {"SLURM_ARRAY_TASK_COUNT", "4"}}})
    EXPECT_FALSE(parsed(wrong));
}

}  // namespace
}  // namespace lockstep
