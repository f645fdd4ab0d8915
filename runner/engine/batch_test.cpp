#include "engine/batch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "engine/local_testing.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

/// A worker whose children take several executions, and say in `stderr` who they are.
class Batches : public LocalEngines {
 protected:
  LocalEngineOptions one_slot(double seconds = 20) const {
    LocalEngineOptions one = options(seconds);
    one.jobs = 1;
    return one;
  }
  static std::set<std::string> children_of(const std::vector<Observation>& seen) {
    std::set<std::string> children;
    for (const Observation& each : seen) children.insert(each.stderr_tail);
    return children;
  }
  bool was_noted(const std::string& text) const {
    return std::any_of(notes_.begin(), notes_.end(), [&](const std::string& note) {
      return note.find(text) != std::string::npos;
    });
  }
  static std::vector<Outcome> outcomes(const std::vector<Observation>& seen) {
    std::vector<Outcome> all;
    for (const Observation& each : seen) all.push_back(each.outcome);
    return all;
  }
};

TEST_F(Batches, GoToOneChildInOrder) {
  LocalEngine engine(one_slot());
  std::vector<std::string> order, children;
  for (std::size_t i = 0; i < 9; ++i) {
    const std::string id = fmt::format("{}", i);
    engine.submit(job(id, fake("batch=4"), "conform", i, [&, id](Observation seen, double) {
      EXPECT_EQ(seen.outcome, Outcome::returned) << seen.reason << "\n" << seen.stderr_tail;
      order.push_back(id);
      children.push_back(seen.stderr_tail);
    }));
  }
  while (!engine.idle()) engine.step(0.05);
  EXPECT_EQ(order, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8"}));
  for (const std::size_t i : {1, 2, 3, 5, 6, 7}) EXPECT_EQ(children[i], children[i / 4 * 4]) << i;
  EXPECT_NE(children[0], children[4]);
  EXPECT_FALSE(children[0].empty());
  EXPECT_TRUE(children[8].empty());  // what is left is one, and a `run`
}

TEST_F(Batches, AreForOneDevice) {
  LocalEngine engine(one_slot());
  std::vector<std::string> children(4);
  for (std::size_t i = 0; i < 4; ++i) {
    Job each = job("j", fake("batch=4"), "conform", i,
                   [&, i](Observation seen, double) { children[i] = seen.stderr_tail; });
    if (i % 2 == 1) each.parts[0].message["device"] = "cpu:1";
    engine.submit(std::move(each));
  }
  while (!engine.idle()) engine.step(0.05);
  EXPECT_EQ(children[0], children[2]);
  EXPECT_EQ(children[1], children[3]);
  EXPECT_NE(children[0], children[1]);
}

TEST_F(Batches, ACrashCostsOne) {
  const auto seen =
      run({"conform", "die", "conform", "leave", "conform"}, fake("batch=8"), one_slot());
  EXPECT_EQ(outcomes(seen),
            (std::vector<Outcome>{Outcome::returned, Outcome::crashed, Outcome::returned,
                                  Outcome::crashed, Outcome::returned}));
  EXPECT_EQ(seen[1].signal, SIGKILL);
  EXPECT_NE(seen[0].stderr_tail, seen[2].stderr_tail);
  EXPECT_EQ(seen[2].stderr_tail, seen[4].stderr_tail);
  EXPECT_TRUE(notes_.size() == 1) << notes_.back();  // the worker was started once
}

TEST_F(Batches, ATimeOutCostsOne) {
  const auto seen = run({"conform", "hang", "conform", "conform"}, fake("batch=4"), one_slot(2));
  EXPECT_EQ(outcomes(seen), (std::vector<Outcome>{Outcome::returned, Outcome::timed_out,
                                                  Outcome::returned, Outcome::returned}));
  EXPECT_EQ(seen[1].stage, "compile");
  EXPECT_EQ(children_of(seen).size(), 2U);
  EXPECT_EQ(notes_.size(), 1U) << notes_.back();
}

TEST_F(Batches, WaitWithoutAClock) {
  LocalEngine engine(one_slot(2));  // less than all of them take
  double most = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    engine.submit(job("j", fake("batch=16"), "slow", i, [&](Observation seen, double seconds) {
      EXPECT_EQ(seen.outcome, Outcome::returned) << seen.reason;
      most = std::max(most, seconds);
    }));
  }
  while (!engine.idle()) engine.step(0.05);
  EXPECT_LT(most, 2);
}

TEST_F(Batches, AreNotWaitedForWhereTheNextOneIsNeverBegun) {
  const auto seen = run({"stall", "conform", "conform"}, fake("batch=4"), one_slot(2));
  EXPECT_EQ(outcomes(seen),
            (std::vector<Outcome>{Outcome::returned, Outcome::timed_out, Outcome::returned}));
}

TEST_F(Batches, AKillThatComesTooLateHitsNobodyElse) {
  // Enough for the worker to start a process and name it, however busy the machine is: a child that
  // has no name cannot be killed, so that the worker would be.
  const auto seen = run({"conform", "conform", "conform"}, fake("overrun=4"), one_slot(6));
  EXPECT_EQ(outcomes(seen),
            (std::vector<Outcome>{Outcome::timed_out, Outcome::returned, Outcome::returned}))
      << seen[1].reason;
}

TEST_F(Batches, OfALostWorkerAreRunAgainAlone) {
  const auto seen = run({"conform", "orphan", "conform", "conform"}, fake("batch=4"), one_slot());
  EXPECT_EQ(outcomes(seen), (std::vector<Outcome>{Outcome::returned, Outcome::lost,
                                                  Outcome::returned, Outcome::returned}));
  EXPECT_TRUE(was_noted("with 3 executions under way; 3 run again, one at a time"));
  EXPECT_TRUE(seen[2].stderr_tail.empty() && seen[3].stderr_tail.empty());  // each is a `run`
}

TEST_F(Batches, AreAnsweredInOrder) {
  const auto seen = run({"conform", "conform"}, fake("hasty=4"), one_slot());
  EXPECT_TRUE(was_noted("spoke of run 2, which comes after 1")) << notes_.back();
  EXPECT_EQ(outcomes(seen), (std::vector<Outcome>{Outcome::returned, Outcome::returned}));
}

TEST_F(Batches, MayEachSayAsMuchAsAnExecutionMay) {
  const auto seen = run({"chatter", "chatter", "chatter", "chatter"}, fake("batch=4"), one_slot());
  EXPECT_EQ(outcomes(seen), std::vector<Outcome>(4, Outcome::returned)) << seen[3].reason;
  EXPECT_EQ(notes_.size(), 1U) << notes_.back();
}

TEST_F(Batches, TakeASlotEach) {
  LocalEngine engine(options(20));  // two slots
  WorkerSpec other = fake();
  other.environment = {{"OTHER", "1"}};  // so that it is a worker of its own
  std::size_t most = 0;
  bool both = false;
  engine.on_started = [&] {
    const auto ids = engine.running_ids();
    most = std::max(most, ids.size());
    both |= std::set<std::string>(ids.begin(), ids.end()) == std::set<std::string>{"many", "other"};
  };
  std::set<std::string> children;
  for (std::size_t i = 0; i < 8; ++i) {
    engine.submit(job("many", fake("batch=8"), "slow", i,
                      [&](Observation seen, double) { children.insert(seen.stderr_tail); }));
  }
  for (std::size_t i = 8; i < 10; ++i)
    engine.submit(job("other", other, "slow", i, [](Observation, double) {}));
  while (!engine.idle()) engine.step(0.05);
  EXPECT_EQ(most, 2U);
  EXPECT_TRUE(both);
  EXPECT_GE(children.size(), 2U);  // no slot takes more than its share of what waits
}

TEST_F(Batches, AreWantedInAdvance) {
  LocalEngine engine(one_slot());
  EXPECT_EQ(engine.wanted(), 4U);
  engine.submit(job("j", fake("batch=8"), "conform", 0, [](Observation, double) {}));
  while (!engine.idle()) engine.step(0.05);
  EXPECT_EQ(engine.wanted(), 16U);
}

TEST_F(Batches, AreAbandonedWhole) {
  LocalEngine engine(one_slot());
  for (std::size_t i = 0; i < 4; ++i) {
    engine.submit(job("hang", fake("batch=4"), "hang", i, [](Observation, double) {
      ADD_FAILURE() << "an abandoned job was reported";
    }));
  }
  const auto stage = [&] { return engine.report().find("`compile`") != std::string::npos; };
  for (int i = 0; i < 400 && !stage(); ++i) engine.step(0.05);
  EXPECT_NE(engine.report().find("1 under way, 3 queued"), std::string::npos) << engine.report();
  EXPECT_NE(engine.report().find("; 3 behind it in its batch"), std::string::npos)
      << engine.report();
  engine.abandon();
  EXPECT_TRUE(engine.idle());
  // The second one would say its number in a file if its worker went on.
  ::usleep(500000);
  for (const char* out : {"out2", "out3", "out4"})
    EXPECT_FALSE(fs::exists(scratch_.path() / out / "stderr")) << out;
  bool done = false;
  engine.submit(job("next", fake("batch=4"), "conform", 0, [&](Observation seen, double) {
    EXPECT_EQ(seen.outcome, Outcome::returned) << seen.reason;
    done = true;
  }));
  while (!engine.idle()) engine.step(0.05);
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace lockstep
