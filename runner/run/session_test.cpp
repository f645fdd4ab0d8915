#include "run/session.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "engine/fake.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

constexpr const char* kSmallCase = R"({
  "format": 1, "title": "turns its input",
  "inputs": {"x": {"dtype": "float32", "shape": [2, 3], "fill": {"arange": {"start": 1}}}},
  "steps": [{"let": "y", "op": "neg", "args": ["%x"]}],
  "outputs": ["y"]
})";
constexpr const char* kPath = R"({
  "format": 1, "name": "own", "title": "a compiler", "worker": ["compiler"], "promise": "bits",
  "default": true, "devices": ["*"]
})";

/// Hears everything, remembers the verdicts.
class Listener : public Reporter {
 public:
  void run_started(const RunInfo& run) override { info = run; }
  void note(const std::string&) override {}
  void running(const std::vector<std::string>&) override {}
  void verdict(const Verdict& verdict) override { verdicts.push_back(verdict); }
  void run_ended(const RunRecord&) override {}
  RunInfo info;
  std::vector<Verdict> verdicts;
};

/// Sessions over a suite of two cases and one path.
class Sessions : public testing::Test {
 protected:
  Sessions() : scratch_(std::move(*Scratch::create())) {
    write("cases/bugs/1.json", kSmallCase);
    write("cases/bugs/2.json", kSmallCase);
    write("runner/paths/own.json", kPath);
    settings_.root = scratch_.path();
    settings_.schemas = scratch_.path() / "none.json";
    settings_.eager = "eager";
  }
  void write(const std::string& name, const std::string& text) {
    const fs::path file = scratch_.path() / name;
    fs::create_directories(file.parent_path());
    EXPECT_TRUE(write_file(file, text));
  }
  Session opened() {
    Session session(settings_);
    Diagnostics diagnostics;
    EXPECT_TRUE(session.read_suite(diagnostics));
    for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << to_string(diagnostic);
    EXPECT_TRUE(session.read_operators());
    session.expand();
    return session;
  }
  Scratch scratch_;
  SessionSettings settings_;
};

TEST_F(Sessions, PlanWithoutAWorkerForTheDevicesOfTheSettings) {
  const Session session = opened();
  EXPECT_EQ(session.operators(), nullptr);
  Diagnostics diagnostics;
  const auto ids = [&](const Session& of) {
    std::vector<std::string> result;
    for (const PlanItem& item : make_plan(of.plan_request({}), diagnostics).items)
      result.push_back(item.id);
    return result;
  };
  EXPECT_EQ(ids(session), (std::vector<std::string>{"bugs/1@cpu/own", "bugs/2@cpu/own"}));
  settings_.devices = {"cuda"};
  EXPECT_EQ(ids(opened()), (std::vector<std::string>{"bugs/1@cuda/own", "bugs/2@cuda/own"}));
}

TEST_F(Sessions, RunAPlanOnWhateverEngine) {
  Session session = opened();
  const Json hello = {{"devices", {"cpu", "tpu"}},
                      {"environment", {{"torch", "2.13.0"}, {"cpu_capability", "AVX2"}}}};
  ASSERT_TRUE(session.start_on(std::make_unique<FakeEngine>(
      2,
      [](const Job& job) {
        Observation seen;
        seen.outcome = Outcome::unsupported;
        seen.reason = job.parts[0].worker.argv[0];
        return seen;
      },
      hello)));
  ASSERT_TRUE(session.meet_torch());
  EXPECT_EQ(session.environment()["torch"], "2.13.0");
  Diagnostics diagnostics;
  const PlanRequest request = session.plan_request({});
  EXPECT_EQ(request.devices, (std::vector<std::string>{"cpu", "tpu"}));
  const Plan plan = make_plan(request, diagnostics);
  ASSERT_EQ(plan.items.size(), 4U);

  RunInfo info;
  info.started = "2026-11-21T10:00:00Z";
  RunSettings settings = session.run_settings(request, plan, info, true);
  settings.directory = scratch_.path() / "run";
  EXPECT_EQ(settings.info.planned, 4U);
  EXPECT_EQ(settings.info.paths.at(0).name, "own");
  EXPECT_EQ(settings.info.suite, digest_of_suite(settings_));
  EXPECT_EQ(settings.conditions.torch, "2.13.0");
  EXPECT_EQ(settings.conditions.today, "2026-11-21");
  EXPECT_EQ(settings.scope.instances.size(), 4U);
  Listener ear;
  const auto record = session.run(plan, settings, ear);
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(ear.verdicts.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(ear.verdicts[i].id, plan.items[i].id);
    EXPECT_EQ(ear.verdicts[i].status, Status::unsupported);
    EXPECT_EQ(ear.verdicts[i].reason, "compiler");
  }
}

TEST_F(Sessions, SayWhatIsWrongWithASuiteAndThatThereIsNone) {
  write("cases/bugs/3.json", R"({"format": 1,})");
  Diagnostics diagnostics;
  EXPECT_TRUE(Session(settings_).read_suite(diagnostics));
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].file, "cases/bugs/3.json");
  settings_.root = scratch_.path() / "nowhere";
  EXPECT_FALSE(Session(settings_).read_suite(diagnostics));
}

TEST_F(Sessions, AreOfAnotherSuiteWhenAFileChanges) {
  const std::string before = digest_of_suite(settings_);
  write("expected/known/x.json", "{}");
  const std::string after = digest_of_suite(settings_);
  EXPECT_NE(after, before);
  settings_.libraries = {scratch_.path() / "cases/bugs/1.json"};
  EXPECT_NE(digest_of_suite(settings_), after);
}

}  // namespace
}  // namespace lockstep
