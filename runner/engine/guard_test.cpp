#include "engine/guard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "engine/local_testing.h"
#include "engine/process.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

/// What of a worker is killed, and what is not.
class Guards : public LocalEngines {};

TEST_F(Guards, NoPidOfAWorkerKillsAnythingElse) {
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

TEST_F(Guards, WritingToADeadWorkerIsNoSignal) {
  signal(SIGPIPE, SIG_DFL);
  auto process = Process::start({{"true"}, {}, scratch_.path() / "log"});
  ASSERT_TRUE(process);
  for (int i = 0; i < 1000 && !process->poll_status(); ++i) ::usleep(1000);
  EXPECT_LT(::write(process->input(), "x", 1), 0);
  EXPECT_EQ(errno, EPIPE);
}

TEST_F(Guards, EndWhateverTheRunnersOtherThreadsDid) {
  // A guard is forked from a process whose threads may hold locks at that moment, the allocator's
  // above all; sanitizers do not have theirs free in a child.
  std::atomic<bool> enough = false;
  std::vector<std::jthread> threads;
  for (std::size_t seed = 1; seed <= 3; ++seed) {
    threads.emplace_back([&enough, at = seed]() mutable {
      std::vector<std::string> held(512);
      for (; !enough; at = at * 2862933555777941757 + 1)
        held[at % held.size()].assign(16 + at % 65536, 'x');
    });
  }
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(Process::start({{"true"}, {}, scratch_.path() / "log"}));
  enough = true;
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

TEST_F(Guards, ADaemonEndsWithItsWorker) {
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

}  // namespace
}  // namespace lockstep
