#include "engine/local.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <thread>

#include "engine/scratch.h"
#include "record/machine.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

/// Jobs for the fake worker, whose behaviour is the name of the path.
class LocalEngines : public testing::Test {
 protected:
  LocalEngines() : scratch_(std::move(*Scratch::create())) {
    std::ofstream(scratch_.path() / "input") << std::string(16, 'x');
  }
  LocalEngineOptions options(double seconds) const {
    const Json hello = {{"type", "hello"},
                        {"protocol", 1},
                        {"threads", 1},
                        {"cache", nullptr},
                        {"limits", {{"memory_bytes", 0}, {"file_bytes", 0}}},
                        {"libraries", Json::array()}};
    return {2, {seconds, seconds, 20}, scratch_.path(), scratch_.path(), hello};
  }
  WorkerSpec fake(const std::string& how = "ready") const {
    const std::string script =
        std::string(LOCKSTEP_SOURCE_DIR) + "/runner/engine/testdata/fake_worker.py";
    return {"fake", {"python3", script, how}, {}};
  }
  Json message(const std::string& path) const {
    const Json view = {{"storage", 0},
                       {"dtype", "float32"},
                       {"shape", {2, 2}},
                       {"strides", {2, 1}},
                       {"offset", 0}};
    return {{"instance", "i@cpu"},
            {"path", {{"name", path}}},
            {"device", "cpu"},
            {"mode", "plain"},
            {"repeat", 1},
            {"seed", 0},
            {"program",
             {{"inputs", {"x"}},
              {"steps", Json::array()},
              {"outputs", {"x"}},
              {"context", Json::object()},
              {"backward", nullptr}}},
            {"calls", {{{"inputs", {{"x", view}}}}}}};
  }
  Job job(std::string id, const WorkerSpec& worker, const std::string& path, std::size_t order,
          std::function<void(Observation, double)> done) const {
    return {std::move(id),
            {{worker, message(path)}},
            {{scratch_.path() / "input", 16}},
            order,
            std::move(done)};
  }
  /// Runs one job for each path and gives the observations in the order of the paths.
  std::vector<Observation> run(const std::vector<std::string>& paths, const WorkerSpec& worker,
                               double seconds = 20) {
    return run(paths, worker, options(seconds));
  }
  std::vector<Observation> run(const std::vector<std::string>& paths, const WorkerSpec& worker,
                               const LocalEngineOptions& options) {
    LocalEngine engine(options);
    engine.on_note = [this](const std::string& text) { notes_.push_back(text); };
    std::vector<Observation> observations(paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i) {
      engine.submit(
          job(paths[i], worker, paths[i], i,
              [&observations, i](Observation seen, double) { observations[i] = std::move(seen); }));
    }
    while (!engine.idle()) engine.step(0.05);
    return observations;
  }
  /// Waits until the third execution of a crowd has written: the second one's `ended` is said.
  bool third_has_begun() const {
    const fs::path file = scratch_.path() / "out3" / "observation.json";
    for (int i = 0; i < 6000 && !fs::exists(file); ++i) ::usleep(10000);
    return fs::exists(file);
  }
  Scratch scratch_;
  std::vector<std::string> notes_;
};

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

TEST_F(LocalEngines, NoPidOfAWorkerKillsAnythingElse) {
  // Two checks stand before `kill(-1)`, so that a test of either costs nobody his processes.
  const auto seen = run({"first", "first-of-64"}, fake());
  for (const Observation& each : seen) {
    EXPECT_EQ(each.outcome, Outcome::lost);
    EXPECT_NE(each.reason.find("`pid` is no number of a process group"), std::string::npos)
        << each.reason;
  }
  EXPECT_EQ(run({"word"}, fake())[0].outcome, Outcome::lost);
  for (const auto& each : run({"runner", "self", "self"}, fake())) {
    EXPECT_EQ(each.outcome, Outcome::returned) << each.reason;
  }
  EXPECT_FALSE(kill_group(::getpgrp()));
  EXPECT_FALSE(kill_group(0));
}

TEST_F(LocalEngines, AJobThatHangsIsKilledAndTheNextOneRuns) {
  const auto seen = run({"hang", "conform"}, fake(), 1);
  EXPECT_EQ(seen[0].outcome, Outcome::timed_out) << seen[0].reason;
  EXPECT_EQ(seen[0].stage, "compile");
  EXPECT_EQ(seen[1].outcome, Outcome::returned) << seen[1].reason;
}

TEST_F(LocalEngines, AWorkerThatCannotWorkIsNotStartedForEver) {
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

TEST_F(LocalEngines, AWorkerThatIsKilledAsItStartsIsStartedAgain) {
  const auto seen = run({"conform"}, fake("once=" + (scratch_.path() / "struck").string()));
  EXPECT_EQ(seen[0].outcome, Outcome::returned) << seen[0].reason;
  const auto never = run({"conform"}, fake("struck"));
  EXPECT_EQ(never[0].outcome, Outcome::lost);
  EXPECT_NE(never[0].reason.find("signal 9"), std::string::npos) << never[0].reason;
}

TEST_F(LocalEngines, AWorkerThatDiesAgainAndAgainIsGivenUp) {
  const std::string once = "die-at-once";
  const auto seen = run({once, once, once, once, once}, fake());
  EXPECT_NE(seen[4].reason.find("3 times in a row"), std::string::npos) << seen[4].reason;
}

TEST_F(LocalEngines, ADeathIsSeenAlthoughSomethingHoldsTheOutput) {
  const auto seen = run({"die-held", "conform"}, fake());
  EXPECT_EQ(seen[0].outcome, Outcome::lost);
  EXPECT_NE(seen[0].reason.find("signal 9"), std::string::npos) << seen[0].reason;
  EXPECT_EQ(seen[1].outcome, Outcome::returned) << seen[1].reason;
}

TEST_F(LocalEngines, NeighboursThatCrashDoNotCostTheRest) {
  const auto seen = run({"die", "die", "babble", "die", "conform"}, fake());
  EXPECT_EQ(seen[3].outcome, Outcome::lost);
  EXPECT_EQ(seen[4].outcome, Outcome::returned) << seen[4].reason;
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

TEST_F(LocalEngines, OnlyTheGuiltyIsLostWithItsWorker) {
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

TEST_F(LocalEngines, WritingToADeadWorkerIsNoSignal) {
  signal(SIGPIPE, SIG_DFL);
  auto process = Process::start({{"true"}, {}, scratch_.path() / "log"});
  ASSERT_TRUE(process);
  for (int i = 0; i < 1000 && !process->poll_status(); ++i) ::usleep(1000);
  EXPECT_LT(::write(process->input(), "x", 1), 0);
  EXPECT_EQ(errno, EPIPE);
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

TEST_F(LocalEngines, TheFirstHelloCounts) {
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

TEST_F(LocalEngines, AFloodCostsItsWorkerAndNobodyElse) {
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

/// Processes with this text in their command line.
std::vector<pid_t> processes_with(const std::string& mark) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    std::ifstream file(entry.path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    if (pid > 0 && line.find(mark) != std::string::npos) found.push_back(pid);
  }
  return found;
}

TEST_F(LocalEngines, ADaemonEndsWithItsWorker) {
  const std::string mark = scratch_.path().string();
  const auto gone = [&] {  // zombies have no command line
    for (int i = 0; i < 1000 && !processes_with(mark).empty(); ++i) ::usleep(10000);
    return processes_with(mark).empty();
  };
  {
    LocalEngine engine(options(20));
    Observation observation;
    engine.submit(job("daemon", fake(), "daemon", 0,
                      [&](Observation seen, double) { observation = std::move(seen); }));
    while (!engine.idle()) engine.step(0.05);
    EXPECT_EQ(observation.outcome, Outcome::returned) << observation.reason;
    for (int i = 0; i < 1000 && processes_with(mark).empty(); ++i) ::usleep(10000);
    EXPECT_FALSE(processes_with(mark).empty());  // it is left alone while its worker works
  }
  EXPECT_TRUE(gone());
  EXPECT_EQ(run({"daemon-hang"}, fake(), 1)[0].outcome, Outcome::timed_out);
  EXPECT_TRUE(gone());
  EXPECT_EQ(run({"daemon-die"}, fake())[0].outcome, Outcome::lost);
  EXPECT_TRUE(gone());
}

/// A job whose first part packages what its second part runs.
class JobsOfSeveralParts : public LocalEngines {
 protected:
  Observation run_parts(const std::string& first, const std::string& second, double* took = nullptr,
                        const WorkerSpec* runner = nullptr) {
    LocalEngine engine(options(20));
    Job whole = job("whole", fake(), first, 0, [&](Observation seen, double seconds) {
      observation_ = std::move(seen);
      if (took != nullptr) *took = seconds;
    });
    whole.parts.push_back({runner == nullptr ? fake() : *runner, message(second)});
    engine.on_started = [&] { ++started_; };
    engine.submit(std::move(whole));
    while (!engine.idle()) engine.step(0.05);
    for (const auto& entry : fs::directory_iterator(scratch_.path()))
      EXPECT_FALSE(entry.is_directory()) << entry.path();
    return observation_;
  }
  Observation observation_;
  int started_ = 0;
};

TEST_F(JobsOfSeveralParts, FindWhatTheOneBeforeLeft) {
  const WorkerSpec other = {"other", fake("crowd").argv, {}};
  const Observation seen = run_parts("package", "run-package", nullptr, &other);
  ASSERT_EQ(seen.outcome, Outcome::returned) << seen.reason;
  EXPECT_EQ(started_, 2);
  // The bytes come from the package, and so does the proof; both parts took 0.001 s to run.
  const auto& y = std::get<TensorView>(seen.repetitions.at(0).at(0).outputs.at(0).second);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(y.bytes.data()), 16), std::string(16, 'p'));
  EXPECT_EQ(seen.proof.value("graphs", 0), 7);
  EXPECT_DOUBLE_EQ(seen.phases.at("run"), 0.002);
}

TEST_F(JobsOfSeveralParts, EndWithTheFirstThatDoesNotReturn) {
  EXPECT_EQ(run_parts("raise", "run-package").outcome, Outcome::raised);
  EXPECT_EQ(started_, 1);
  EXPECT_EQ(run_parts("package", "crash").outcome, Outcome::crashed);
  EXPECT_EQ(started_, 3);
  const WorkerSpec absent = {"absent", {"/no/such/program"}, {}};
  EXPECT_EQ(run_parts("package", "run-package", nullptr, &absent).outcome, Outcome::lost);
}

TEST_F(JobsOfSeveralParts, KeepWhatIsDoneWhereALaterPartIsRunAgain) {
  LocalEngine engine(options(20));
  std::vector<std::string> started;
  engine.on_started = [&] { started.push_back(engine.running_ids().back()); };
  // The worker of the second part dies with it and with the one that is at fault.
  Observation at_fault, seen;
  engine.submit(job("at fault", fake("crowd"), "die-late", 0,
                    [&](Observation observation, double) { at_fault = std::move(observation); }));
  Job whole = job("whole", fake(), "package", 1,
                  [&](Observation observation, double) { seen = std::move(observation); });
  whole.parts.push_back({fake("crowd"), message("run-package")});
  engine.submit(std::move(whole));
  while (!engine.idle()) engine.step(0.05);
  EXPECT_EQ(at_fault.outcome, Outcome::lost);
  EXPECT_EQ(seen.outcome, Outcome::returned) << seen.reason;
  // Two parts, the second one twice.
  EXPECT_EQ(std::count(started.begin(), started.end(), "whole"), 3);
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

TEST(ScratchTest, RemovesWhatKilledRunsLeftAndItself) {
  fs::path left, used, own;
  {
    const auto scratch = Scratch::create();
    own = scratch->path();
    // Its process is there, but it is another one, which was given the same number.
    left = own.parent_path() / fmt::format("lockstep-{}-abcdef", ::getpid());
    fs::create_directory(left);
    // No such process, since numbers end at 2^22: that of a container that shares the directory.
    used = own.parent_path() / "lockstep-999999999-abcdef";
    fs::create_directory(used);
    const int lock = ::open(used.c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_EQ(::flock(lock, LOCK_EX), 0);
    const auto next = Scratch::create();
    EXPECT_FALSE(fs::exists(left));
    EXPECT_TRUE(fs::exists(used));
    EXPECT_TRUE(fs::exists(own));
    ::close(lock);
    const auto last = Scratch::create();
    EXPECT_FALSE(fs::exists(used));
  }
  EXPECT_FALSE(fs::exists(own));
}

TEST(Machine, KnowsWhereItIs) {
  const Json machine = machine_environment();
  EXPECT_FALSE(machine["cpu"].get<std::string>().empty());
  EXPECT_GT(physical_memory(), 1 << 28);
  EXPECT_EQ(utc_now().size(), 20U);
}

}  // namespace
}  // namespace lockstep
