#include "engine/parts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/local_testing.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

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

}  // namespace
}  // namespace lockstep
