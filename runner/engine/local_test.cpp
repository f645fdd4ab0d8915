#include "engine/local.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "engine/local_testing.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

TEST_F(LocalEngines, BringBackWhatAWorkerObserved) {
  const auto seen = run({"conform"}, fake());
  EXPECT_EQ(seen[0].outcome, Outcome::returned) << seen[0].reason;
  ASSERT_EQ(seen[0].repetitions.size(), 1U);
  EXPECT_EQ(seen[0].repetitions[0].at(0).outputs.at(0).first, "x");
}

TEST_F(LocalEngines, EveryBadEndIsItsOwnObservationAndCostsOneJob) {
  const std::vector<std::string> paths = {"conform", "crash",  "leave", "nothing", "half",
                                          "short",   "escape", "die",   "babble",  "conform"};
  const std::vector<Outcome> expected = {
      Outcome::returned, Outcome::crashed, Outcome::crashed, Outcome::crashed, Outcome::lost,
      Outcome::lost,     Outcome::lost,    Outcome::lost,    Outcome::lost,    Outcome::returned};
  const auto seen = run(paths, fake());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    EXPECT_EQ(seen[i].outcome, expected[i]) << paths[i] << ": " << seen[i].reason;
    EXPECT_EQ(seen[i].reason.empty(), seen[i].outcome == Outcome::returned) << paths[i];
  }
  EXPECT_EQ(seen[1].signal, 11);
}

TEST_F(LocalEngines, AJobThatHangsIsKilledAndTheNextOneRuns) {
  const auto seen = run({"hang", "conform"}, fake(), 1);
  EXPECT_EQ(seen[0].outcome, Outcome::timed_out) << seen[0].reason;
  EXPECT_EQ(seen[0].stage, "compile");
  EXPECT_EQ(seen[1].outcome, Outcome::returned) << seen[1].reason;
}

TEST_F(LocalEngines, DoNotChargeAnExecutionForWhatIsMadeOnceForAll) {
  LocalEngine engine(options(1));  // less than what is made takes
  Observation observation;
  double seconds = 9;
  engine.submit(job("warm", fake(), "warm", 0, [&](Observation seen, double took) {
    observation = std::move(seen);
    seconds = took;
  }));
  while (!engine.idle()) engine.step(0.05);
  EXPECT_EQ(observation.outcome, Outcome::returned) << observation.reason;
  EXPECT_LT(seconds, 2);
}

TEST_F(LocalEngines, ACallbackTakesNobodyElsesTime) {
  LocalEngineOptions three = options(5);
  three.jobs = 3;
  LocalEngine engine(three);
  Observation second;
  engine.submit(job("first", fake("crowd"), "conform", 0, [&](Observation, double) {
    // Longer than a stage may take, and the second one ends meanwhile.
    EXPECT_TRUE(third_has_begun());
    ::usleep(5500000);
  }));
  engine.submit(job("second", fake("crowd"), "slow", 1,
                    [&](Observation seen, double) { second = std::move(seen); }));
  engine.submit(job("third", fake("crowd"), "conform", 2, [](Observation, double) {}));
  while (!engine.idle()) engine.step(0.05);
  EXPECT_EQ(second.outcome, Outcome::returned) << second.reason;
}

TEST_F(LocalEngines, TheSecondsOfAnExecutionEndWhenItSaysSo) {
  LocalEngineOptions three = options(60);
  three.jobs = 3;
  LocalEngine engine(three);
  std::vector<double> seconds;
  const auto done = [&](Observation, double took) {
    if (seconds.empty()) ::usleep(3000000);
    seconds.push_back(took);
  };
  for (std::size_t i = 0; i < 3; ++i) {
    engine.submit(job(fmt::format("{}", i), fake("crowd"), "conform", i, done));
  }
  while (engine.running_ids().size() < 3) engine.step(0.05);
  const auto began = std::chrono::steady_clock::now();
  // Two ends that are read at once: what the callback of the first takes is not the second's.
  EXPECT_TRUE(third_has_begun());
  while (seconds.size() < 2) engine.step(0.05);
  const std::chrono::duration<double> read = std::chrono::steady_clock::now() - began;
  EXPECT_LT(seconds[1], read.count() - 2);
}

TEST_F(LocalEngines, AHangCostsNobodyElseOnItsWorker) {
  LocalEngineOptions crowd = options(20);
  crowd.jobs = 4;
  crowd.limits.compile = 1;
  const auto seen =
      run({"hang", "conform", "hang", "hang", "hang", "conform"}, fake("crowd"), crowd);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const bool conforms = i == 1 || i == 5;
    EXPECT_EQ(seen[i].outcome, conforms ? Outcome::returned : Outcome::timed_out)
        << i << ": " << seen[i].reason;
  }
}

TEST_F(LocalEngines, WhatAsksForMoreThreadsTakesMoreSlots) {
  LocalEngineOptions four = options(20);
  four.jobs = 4;
  LocalEngine engine(four);
  const WorkerSpec worker = fake("crowd");
  std::size_t most = 0, done = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    Job wide = job(fmt::format("{}", i), worker, "conform", i,
                   [&](Observation seen, double) { done += seen.outcome == Outcome::returned; });
    wide.parts[0].message["threads"] = i < 7 ? 2 : 64;  // the last one takes all that there are
    engine.submit(std::move(wide));
  }
  while (!engine.idle()) {
    engine.step(0.05);
    most = std::max(most, engine.running_ids().size());
  }
  EXPECT_EQ(done, 8U);
  EXPECT_EQ(most, 2U);
}

TEST_F(LocalEngines, WhatAWorkerDoesToItsFilesAfterwardsChangesNothing) {
  const auto seen = run({"truncate", "conform"}, fake());  // the second one follows the truncation
  ASSERT_EQ(seen[0].outcome, Outcome::returned) << seen[0].reason;
  const auto bytes = seen[0].storages.at(1)->bytes();
  ASSERT_EQ(bytes.size(), 4U << 20);
  // Were it mapped, this would be SIGBUS.
  EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](auto b) { return b == std::byte{'x'}; }));
  EXPECT_EQ(seen[1].outcome, Outcome::returned) << seen[1].reason;
}

TEST_F(LocalEngines, ListsAreResults) {
  const auto seen = run({"list"}, fake());
  ASSERT_EQ(seen[0].outcome, Outcome::returned) << seen[0].reason;
  const NamedValues& outputs = seen[0].repetitions.at(0).at(0).outputs;
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(describe(outputs[0].second), "a list of 2");
  EXPECT_EQ(outputs[1].first, "x[0]");
  EXPECT_EQ(describe(outputs[2].second), "int 3");
}

TEST_F(LocalEngines, AreWokenFromAnotherThread) {
  LocalEngine engine(options(20));
  const auto began = std::chrono::steady_clock::now();
  // Each of them would wait for a quarter of a second.
  for (int i = 0; i < 200; ++i) {
    std::thread([&] { engine.wake(); }).join();
    engine.step(10);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(25));
}

TEST_F(LocalEngines, LeaveNothingBehind) {
  run({"conform", "crash", "half"}, fake());
  for (const auto& entry : fs::directory_iterator(scratch_.path())) {
    EXPECT_FALSE(entry.is_directory()) << entry.path();
  }
}

TEST_F(LocalEngines, AnAbandonedHangIsKilledWithItsWorker) {
  std::string log;
  {
    LocalEngine engine(options(60));
    engine.submit(job("hang", fake(), "hang", 0, [](Observation, double) {
      ADD_FAILURE() << "an abandoned job was reported";
    }));
    for (int i = 0; i < 200 && engine.running_ids().empty(); ++i) engine.step(0.05);
    ASSERT_EQ(engine.running_ids().size(), 1U);
    engine.abandon();
    EXPECT_TRUE(engine.idle());
  }  // the destructor must not wait for the worker's ten minutes
  SUCCEED();
}

}  // namespace
}  // namespace lockstep
