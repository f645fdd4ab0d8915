#include "engine/local_worker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/local_testing.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

/// How workers start, and what their end costs.
class LocalWorkers : public LocalEngines {};

TEST_F(LocalWorkers, AWorkerThatCannotWorkIsNotStartedForEver) {
  for (const auto& [how, part] :
       std::vector<std::pair<std::string, std::string>>{{"refuse", "there is no torch here"},
                                                        {"die", "exited with 5"},
                                                        {"old", "protocol 9"},
                                                        {"garbage", "broke the protocol"},
                                                        {"deep", "nested deeper than"},
                                                        {"keys", "more than 65,536 values"},
                                                        {"odd", "/environment: an object"}}) {
    const auto seen = run({"conform", "conform"}, fake(how));
    EXPECT_EQ(seen[0].outcome, Outcome::lost) << how;
    EXPECT_EQ(seen[1].outcome, Outcome::lost) << how;
    EXPECT_NE(seen[1].reason.find(part), std::string::npos) << seen[1].reason;
  }
  WorkerSpec absent = fake();
  absent.argv = {"/no/such/program"};
  EXPECT_NE(run({"conform"}, absent)[0].reason.find("No such file"), std::string::npos);
}

TEST_F(LocalWorkers, AWorkerThatIsKilledAsItStartsIsStartedAgain) {
  const auto seen = run({"conform"}, fake("once=" + (scratch_.path() / "struck").string()));
  EXPECT_EQ(seen[0].outcome, Outcome::returned) << seen[0].reason;
  const auto never = run({"conform"}, fake("struck"));
  EXPECT_EQ(never[0].outcome, Outcome::lost);
  EXPECT_NE(never[0].reason.find("signal 9"), std::string::npos) << never[0].reason;
}

TEST_F(LocalWorkers, AWorkerThatDiesAgainAndAgainIsGivenUp) {
  const std::string once = "die-at-once";
  const auto seen = run({once, once, once, once, once}, fake());
  EXPECT_NE(seen[4].reason.find("3 times in a row"), std::string::npos) << seen[4].reason;
}

TEST_F(LocalWorkers, AWorkerThatIsDismissedTellsHowItEnds) {
  LocalEngine engine(options(20));
  for (const auto& [how, told] : std::vector<std::pair<std::string, std::string>>{
           {"ready", ""},
           {"exits=3", "exited with 3"},
           {"exits=abort", "was killed by signal 6"}}) {
    const WorkerSpec worker = fake(how);
    EXPECT_EQ(engine.dismiss(worker), "") << "who never started has not ended badly";
    engine.warm_up(worker);
    while (engine.hello_of(worker) == nullptr) engine.step(0.05);
    const std::string broke = engine.dismiss(worker);
    EXPECT_EQ(broke.substr(0, broke.find(" (")), told);
    EXPECT_EQ(engine.dismiss(worker), "");
  }
}

TEST_F(LocalWorkers, ADeathIsSeenAlthoughSomethingHoldsTheOutput) {
  const auto seen = run({"die-held", "conform"}, fake());
  EXPECT_EQ(seen[0].outcome, Outcome::lost);
  EXPECT_NE(seen[0].reason.find("signal 9"), std::string::npos) << seen[0].reason;
  EXPECT_EQ(seen[1].outcome, Outcome::returned) << seen[1].reason;
}

TEST_F(LocalWorkers, NeighboursThatCrashDoNotCostTheRest) {
  const auto seen = run({"die", "die", "babble", "die", "conform"}, fake());
  EXPECT_EQ(seen[3].outcome, Outcome::lost);
  EXPECT_EQ(seen[4].outcome, Outcome::returned) << seen[4].reason;
}

TEST_F(LocalWorkers, OnlyTheGuiltyIsLostWithItsWorker) {
  LocalEngineOptions crowd = options(20);
  crowd.jobs = 4;
  // Whichever of the four runs when the worker dies, the others are on it.
  const std::vector<std::string> paths = {"conform", "die", "slow", "babble", "conform", "conform"};
  const auto seen = run(paths, fake("crowd"), crowd);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const bool guilty = paths[i] == "die" || paths[i] == "babble";
    EXPECT_EQ(seen[i].outcome, guilty ? Outcome::lost : Outcome::returned)
        << paths[i] << ": " << seen[i].reason;
  }
  EXPECT_NE(seen[1].reason.find("signal 9"), std::string::npos) << seen[1].reason;
  EXPECT_NE(seen[3].reason.find("broke the protocol"), std::string::npos) << seen[3].reason;
  EXPECT_TRUE(std::any_of(notes_.begin(), notes_.end(), [](const std::string& note) {
    return note.find("run again, one at a time") != std::string::npos;
  }));
  for (const auto& entry : fs::directory_iterator(scratch_.path())) {
    EXPECT_FALSE(entry.is_directory()) << entry.path();
  }
}

// What is compared as of one level and was computed at another would be a lie about both.
TEST_F(LocalWorkers, AWorkerAtAnotherCpuLevelThanAskedForIsRefused) {
  const auto asked = [&](const std::string& how) {
    WorkerSpec worker = fake(how);
    worker.cpu_level = "avx2";
    return run({"conform"}, worker).front();
  };
  EXPECT_EQ(asked("level=AVX2").outcome, Outcome::returned);
  const Observation other = asked("level=AVX512"), silent = asked("ready"),
                    none = asked("level=NO AVX");
  for (const Observation* seen : {&other, &silent, &none})
    EXPECT_EQ(seen->outcome, Outcome::lost) << seen->reason;
  EXPECT_NE(other.reason.find("it computes at the CPU level avx512, and was "
                              "asked to compute at avx2"),
            std::string::npos)
      << other.reason;
  EXPECT_NE(none.reason.find("at the CPU level default"), std::string::npos) << none.reason;
  EXPECT_NE(silent.reason.find("it does not say at which CPU level"), std::string::npos)
      << silent.reason;
}

TEST_F(LocalWorkers, TheFirstHelloCounts) {
  LocalEngine engine(options(20));
  std::vector<std::string> said;
  engine.on_hello = [&](const std::string&, const Json& hello) {
    said.push_back(hello["environment"]["torch"]);
  };
  const WorkerSpec worker = fake("twice");
  for (int i = 0; i < 3; ++i) engine.submit(job("j", worker, "conform", 0, [](auto, auto) {}));
  while (!engine.idle()) engine.step(0.05);
  EXPECT_EQ(std::count(said.begin(), said.end(), "6.6.6"), 0);
  EXPECT_NE(engine.failure_of(worker).find("a second hello"), std::string::npos)
      << engine.failure_of(worker);
}

TEST_F(LocalWorkers, AFloodCostsItsWorkerAndNobodyElse) {
  LocalEngine engine(options(3));
  Observation flood, hang;
  WorkerSpec other = fake();
  other.environment = {{"OTHER", "1"}};  // so that it is a worker of its own
  const auto start = std::chrono::steady_clock::now();
  engine.submit(
      job("flood", fake(), "flood", 0, [&](Observation seen, double) { flood = std::move(seen); }));
  engine.submit(
      job("hang", other, "hang", 1, [&](Observation seen, double) { hang = std::move(seen); }));
  while (!engine.idle() && std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
    engine.step(0.05);
  EXPECT_EQ(flood.outcome, Outcome::lost) << flood.reason;
  EXPECT_NE(flood.reason.find("a flood"), std::string::npos) << flood.reason;
  EXPECT_EQ(hang.outcome, Outcome::timed_out) << hang.reason;  // its clock went on
}

}  // namespace
}  // namespace lockstep
