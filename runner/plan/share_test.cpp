#include "plan/share.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep {
namespace {

/// Instances of one float32 input, all of which may share; `change` alters one of them.
Plan plan_of(std::size_t count, std::int64_t elements = 4,
             const std::function<void(std::size_t, Case&, Instance&)>& change = {}) {
  Plan plan;
  for (std::size_t i = 0; i < count; ++i) {
    Case declared;
    TensorSpec x;
    x.dtype = find_dtype("float32");
    x.storage_elements = elements;
    declared.calls = {{{{"x", x}}}};
    declared.share = true;
    Instance instance{"i" + std::to_string(i), "cpu", nullptr, 1, 0};
    if (change) change(i, declared, instance);
    instance.declared = std::make_shared<const Case>(std::move(declared));
    plan.instances.push_back(std::move(instance));
    plan.items.push_back({i, 0, "i" + std::to_string(i) + "/p"});
  }
  share(plan);
  return plan;
}

std::vector<std::size_t> graphs(const Plan& plan) {
  std::vector<std::size_t> numbers;
  for (const Instance& instance : plan.instances) numbers.push_back(instance.shared_graph);
  return numbers;
}

TEST(Share, BatchesAreFullAndInOrder) {
  const Plan plan = plan_of(2 * kMostShared + 1);
  EXPECT_EQ(plan.instances[0].shared_graph, 0U);
  EXPECT_EQ(plan.instances[kMostShared - 1].shared_graph, 0U);
  EXPECT_EQ(plan.instances[kMostShared].shared_graph, 1U);
  EXPECT_EQ(plan.instances[2 * kMostShared].shared_graph, 2U);
}

TEST(Share, MemoryBoundsABatch) {
  const auto half = static_cast<std::int64_t>(kMostSharedBytes / 4 / 2);
  EXPECT_EQ(graphs(plan_of(5, half)), (std::vector<std::size_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(graphs(plan_of(2, 4 * half)), (std::vector<std::size_t>{0, 1}));
}

TEST(Share, ReportsAndWhatIsUnlikeStandAlone) {
  using Change = std::function<void(Case&, Instance&)>;
  const std::vector<Change> unlike = {
      [](Case& declared, Instance&) { declared.share = false; },
      [](Case& declared, Instance&) { declared.seed = 7; },
      [](Case& declared, Instance&) { declared.program.context.grad = false; },
      [](Case& declared, Instance&) {
        declared.program.backward = Backward{std::vector<std::string>{"y"}, std::nullopt};
      },
      [](Case&, Instance& instance) { instance.device = "cuda:0"; }};
  for (std::size_t k = 0; k < unlike.size(); ++k) {
    const Plan plan = plan_of(4, 4, [&](std::size_t i, Case& declared, Instance& instance) {
      if (i == 1) unlike[k](declared, instance);
    });
    EXPECT_EQ(graphs(plan), (std::vector<std::size_t>{0, 1, 2, 2})) << k;
  }
}

TEST(Share, WhatFitsTogetherInACaseIsGathered) {
  const Backward backward{std::vector<std::string>{"y"}, std::nullopt};
  Plan plan = plan_of(7, 4, [&](std::size_t i, Case& declared, Instance&) {
    declared.id = i < 5 ? "a" : "b";
    if (i % 2 == 1) declared.program.backward = backward;
    declared.share = i != 2;
  });
  gather(plan);
  share(plan);
  std::vector<std::string> order;
  for (const PlanItem& item : plan.items) {
    EXPECT_EQ(item.id, plan.instances[item.instance].id + "/p");
    order.push_back(plan.instances[item.instance].id);
  }
  // What begins first comes first, what shares nothing stays alone, and a case keeps to itself.
  EXPECT_EQ(order, (std::vector<std::string>{"i0", "i4", "i1", "i3", "i2", "i5", "i6"}));
  EXPECT_EQ(graphs(plan), (std::vector<std::size_t>{0, 0, 1, 1, 2, 3, 4}));
}

TEST(Share, ShufflingKeepsBatchesTogether) {
  Plan plan =
      plan_of(6, 4, [](std::size_t i, Case& declared, Instance&) { declared.share = i < 3; });
  const std::string before = plan.digest;
  shuffle(plan, 3);
  EXPECT_NE(plan.digest, before);
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < plan.instances.size(); ++i) {
    EXPECT_EQ(plan.items[i].instance, i);
    EXPECT_EQ(plan.items[i].id, plan.instances[i].id + "/p");
    if (i > 0 && plan.instances[i].shared_graph != plan.instances[i - 1].shared_graph) {
      EXPECT_EQ(plan.instances[i].shared_graph, plan.instances[i - 1].shared_graph + 1);
    }
    if (plan.instances[i].declared->share) seen.insert(plan.instances[i].shared_graph);
  }
  EXPECT_EQ(seen.size(), 1U);
}

}  // namespace
}  // namespace lockstep
