#include "engine/replaying.h"

#include <gtest/gtest.h>

#include <fstream>

#include "engine/local_testing.h"
#include "engine/saved.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

/// Runs jobs once with an engine that keeps, and again with one that replays what was kept.
class ReplayingEngines : public LocalEngines {
 protected:
  /// A job that packages and runs the package, or only runs.
  Job job_of(const std::string& id, bool packages, const std::string& path = "run-package") {
    Job made = job(id, fake(), packages ? "package" : path, 0,
                   [this](Observation seen, double) { seen_ = std::move(seen); });
    if (packages) made.parts.push_back({fake(), message(path)});
    return made;
  }
  void save(Job job) {
    LocalEngineOptions settings = options(20);
    settings.save_jobs = saved();
    LocalEngine engine(std::move(settings));
    engine.submit(std::move(job));
    while (!engine.idle()) engine.step(0.05);
  }
  Observation replay(Job job) {
    seen_ = {};
    started_ = 0;
    ReplayingEngine engine(std::make_unique<LocalEngine>(options(20)), saved());
    engine.on_started = [this] { ++started_; };
    engine.submit(std::move(job));
    while (!engine.idle()) engine.step(0.05);
    return seen_;
  }
  fs::path saved() const { return scratch_.path() / "saved"; }

  Observation seen_;
  int started_ = 0;
};

TEST_F(ReplayingEngines, ExecuteTheLastPartAloneOnWhatWasKept) {
  save(job_of("whole", true));
  ASSERT_EQ(seen_.outcome, Outcome::returned) << seen_.reason;
  EXPECT_TRUE(fs::exists(saved_folder(saved(), "whole", 0) / "package"));
  EXPECT_FALSE(fs::exists(saved_folder(saved(), "whole", 1)));  // it is to be executed again
  const Observation again = replay(job_of("whole", true));
  ASSERT_EQ(again.outcome, Outcome::returned) << again.reason;
  EXPECT_EQ(started_, 1);
  const auto& y = std::get<TensorView>(again.repetitions.at(0).at(0).outputs.at(0).second);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(y.bytes.data()), 16), std::string(16, 'p'));
  // What was kept stays for the next time.
  EXPECT_TRUE(fs::exists(saved_folder(saved(), "whole", 0) / "package"));
  // A package that crashes costs its own job.
  EXPECT_EQ(replay(job_of("whole", true, "crash")).outcome, Outcome::crashed);
}

TEST_F(ReplayingEngines, AnswerAJobOfOnePartWithoutExecutingIt) {
  save(job_of("plain", false, "ready"));
  ASSERT_EQ(seen_.outcome, Outcome::returned) << seen_.reason;
  // Whatever its worker would do now.
  EXPECT_EQ(replay(job_of("plain", false, "crash")).outcome, Outcome::returned);
  EXPECT_EQ(started_, 0);
  // Of another id nothing was kept: it is executed.
  EXPECT_EQ(replay(job_of("other", false, "crash")).outcome, Outcome::crashed);
  EXPECT_EQ(started_, 1);
}

TEST_F(ReplayingEngines, SayWhereNothingOrNothingGoodWasKept) {
  const Observation none = replay(job_of("whole", true));
  EXPECT_EQ(none.outcome, Outcome::lost);
  EXPECT_EQ(none.reason, "nothing was kept of its parts but the last");
  save(job_of("plain", false, "ready"));
  std::ofstream(saved_folder(saved(), "plain", 0) / "observation.json") << "{";
  const Observation broken = replay(job_of("plain", false, "ready"));
  EXPECT_EQ(broken.outcome, Outcome::lost);
  EXPECT_NE(broken.reason.find("what was kept cannot be read"), std::string::npos) << broken.reason;
}

TEST_F(ReplayingEngines, KeepNoLinks) {
  const fs::path out = scratch_.path() / "out";
  fs::create_directory(out);
  std::ofstream(out / "plain") << "1";
  fs::create_symlink("/etc/passwd", out / "link");
  save_part(out, saved(), "job", 0);
  EXPECT_TRUE(fs::exists(saved_folder(saved(), "job", 0) / "plain"));
  EXPECT_FALSE(fs::exists(saved_folder(saved(), "job", 0) / "link"));
}

}  // namespace
}  // namespace lockstep
