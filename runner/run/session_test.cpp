#include "run/session.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "engine/fake.h"
#include "record/judge_digest.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

constexpr const char* kTurningCase = R"({
  "format": 1, "title": "turns its input",
  "inputs": {"x": {"dtype": "float32", "shape": [2, 3], "fill": {"arange": {"start": 1}}}},
  "steps": [{"let": "y", "op": "neg", "args": ["%x"]}],
  "outputs": ["y"]
})";
constexpr const char* kPath = R"({
  "format": 2, "name": "own", "title": "a compiler", "worker": ["compiler"], "contract": "bits",
  "default": true, "devices": ["*"]
})";

/// Hears everything, remembers the verdicts.
class Listener : public Reporter {
 public:
  void run_started(const RunInfo& run) override { info = run; }
  void note(const std::string&) override {}
  void running(const std::vector<std::string>&, const std::vector<std::string>&) override {}
  void verdict(const Verdict& verdict) override { verdicts.push_back(verdict); }
  void run_ended(const RunRecord&) override {}
  RunInfo info;
  std::vector<Verdict> verdicts;
};

/// Sessions over a suite of two cases and one path.
class Sessions : public testing::Test {
 protected:
  Sessions() : scratch_(std::move(*Scratch::create())) {
    write("cases/bugs/1.json", kTurningCase);
    write("cases/bugs/2.json", kTurningCase);
    write("runner/paths/own.json", kPath);
    settings_.home = settings_.root = scratch_.path();
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

TEST_F(Sessions, ACaseForAKindOfDeviceRunsOnEachOfThem) {
  std::string on_cuda = kTurningCase;
  on_cuda.insert(1, R"("only": {"devices": ["cuda"]},)");
  write("cases/bugs/2.json", on_cuda);
  settings_.devices = {"cpu", "cuda:0", "cuda:1"};
  const Session session = opened();
  Diagnostics diagnostics;
  const auto ids = [&](const std::vector<std::string>& terms) {
    std::vector<std::string> result;
    for (const PlanItem& item :
         make_plan(session.plan_request(*Filter::parse(terms)), diagnostics).items)
      result.push_back(item.id);
    return result;
  };
  EXPECT_EQ(ids({"bugs/2"}), (std::vector<std::string>{"bugs/2@cuda:0/own", "bugs/2@cuda:1/own"}));
  EXPECT_EQ(ids({"device:cuda"}).size(), 4U);
  EXPECT_EQ(ids({"device:cuda:1", "bugs/1"}), (std::vector<std::string>{"bugs/1@cuda:1/own"}));
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
  EXPECT_EQ(settings.info.digests, digests_of_suite(settings_));
  EXPECT_EQ(settings.info.paths.at(0).declared.at("worker"), Json({"compiler"}));
  EXPECT_EQ(settings.info.paths.at(0).digest.size(), 32U);
  EXPECT_EQ(settings.conditions.torch, "2.13.0");
  EXPECT_EQ(settings.conditions.today, "2026-11-21");
  EXPECT_EQ(settings.scope.instances.size(), 4U);
  Listener ear;
  const auto record = session.run(plan, settings, ear);
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(ear.verdicts.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(ear.verdicts[i].facts.id, plan.items[i].id);
    EXPECT_EQ(ear.verdicts[i].found.status, Status::unsupported);
    EXPECT_EQ(ear.verdicts[i].found.reason, "compiler");
  }
}

TEST_F(Sessions, TakeVerdictsOfEarlierRunsWhereNothingHasChanged) {
  constexpr const char* kTorchs = R"({
    "format": 2, "name": "torchs", "title": "Inductor", "worker": "compiled", "backend": "inductor",
    "contract": "bits", "default": true, "devices": ["*"]
  })";
  constexpr const char* kImporting = R"({
    "format": 2, "name": "importing", "title": "what no file here says", "worker": "compiled",
    "backend": "inductor", "import": ["mine"], "contract": "bits", "default": true, "devices": ["*"]
  })";
  write("runner/paths/torchs.json", kTorchs);
  write("runner/paths/importing.json", kImporting);
  int run = 0;
  const auto reused = [&] {
    Session session = opened();
    EXPECT_TRUE(session.start_on(std::make_unique<FakeEngine>(
        2,
        [](const Job&) {
          Observation seen;
          seen.outcome = Outcome::unsupported;
          seen.reason = "no";
          return seen;
        },
        Json{{"devices", {"cpu"}}, {"environment", {{"torch", "2.13.0"}}}})));
    EXPECT_TRUE(session.meet_torch());
    const PlanRequest request = session.plan_request({});
    Diagnostics diagnostics;
    const Plan plan = make_plan(request, diagnostics);
    RunInfo info;
    info.started = fmt::format("2026-11-21T10:00:0{}Z", ++run);
    RunSettings settings = session.run_settings(request, plan, info, true);
    settings.directory = scratch_.path() / fmt::format("run{}", run);
    EXPECT_TRUE(session.reuse_verdicts(scratch_.path() / "verdicts", plan, settings));
    Listener ear;
    EXPECT_TRUE(session.run(plan, settings, ear));
    EXPECT_EQ(ear.verdicts.size(), 6U);
    std::vector<std::string> ids;
    for (const Verdict& verdict : ear.verdicts) {
      EXPECT_EQ(verdict.found.reason, "no") << verdict.facts.id;
      EXPECT_THAT(verdict.origin.repro, testing::HasSubstr(" run " + verdict.facts.id));
      if (!verdict.origin.reused.empty())
        ids.push_back(verdict.facts.id + " of " + verdict.origin.reused.substr(18, 1));
    }
    return ids;
  };
  using testing::ElementsAre;
  using testing::IsEmpty;
  EXPECT_THAT(reused(), IsEmpty());
  EXPECT_THAT(reused(), ElementsAre("bugs/1@cpu/torchs of 1", "bugs/2@cpu/torchs of 1"));
  std::string other_case = kTurningCase;
  other_case.replace(other_case.find("[2, 3]"), 6, "[2, 4]");
  write("cases/bugs/1.json", other_case);
  EXPECT_THAT(reused(), ElementsAre("bugs/2@cpu/torchs of 1"));
  EXPECT_THAT(reused(), ElementsAre("bugs/1@cpu/torchs of 3", "bugs/2@cpu/torchs of 1"));
  std::string other_path = kTorchs;
  other_path.replace(other_path.find("\"bits\""), 6, "\"values\"");
  write("runner/paths/torchs.json", other_path);
  EXPECT_THAT(reused(), IsEmpty());
  settings_.pace.threads = 3;
  EXPECT_THAT(reused(), IsEmpty());
  settings_.pace.threads = 0;
  EXPECT_THAT(reused(), ElementsAre("bugs/1@cpu/torchs of 5", "bugs/2@cpu/torchs of 5"));
}

TEST_F(Sessions, TakeTheThreadsOfTheLevelWhereNobodyAsksForSome) {
  Session session = opened();
  EXPECT_EQ(session.settings().pace.threads, 2);
  session.use({{"*"}, {{"bugs/1", "0123456789abcdef"}}, {}, 1});
  EXPECT_EQ(session.settings().pace.threads, 1);
  settings_.pace.threads = 3;
  Session asked = opened();
  asked.use({{"*"}, {{"bugs/1", "0123456789abcdef"}}, {}, 1});
  EXPECT_EQ(asked.settings().pace.threads, 3);
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

TEST_F(Sessions, HaveADigestOfEachKindOfFile) {
  const auto changed_by = [&](const auto& change) {
    const auto before = digests_of_suite(settings_);
    change();
    std::string names;
    for (const auto& [name, digest] : digests_of_suite(settings_)) {
      EXPECT_TRUE(digest.empty() || digest.size() == 32U) << name;
      if (!before.contains(name) || before.at(name) != digest) names += name + " ";
    }
    return names;
  };
  EXPECT_EQ(changed_by([] {}), "");
  EXPECT_EQ(changed_by([&] { write("cases/bugs/3.json", kTurningCase); }), "cases ");
  EXPECT_EQ(changed_by([&] { write("expected/known/x.json", "{}"); }), "expectations ");
  EXPECT_EQ(changed_by([&] { write("expected/levels/1.0/core.json", "{}"); }), "levels ");
  EXPECT_EQ(changed_by([&] { write("runner/paths/other.json", kPath); }), "paths ");
  EXPECT_EQ(
      changed_by([&] { settings_.files.path_files = {scratch_.path() / "cases/bugs/1.json"}; }),
      "paths ");
  EXPECT_EQ(
      changed_by([&] { settings_.files.libraries = {scratch_.path() / "cases/bugs/1.json"}; }),
      "libraries ");
  EXPECT_EQ(changed_by([&] { settings_.files.expectations = false; }), "expectations ");
  EXPECT_EQ(digests_of_suite(settings_).at("expectations"), "");
  EXPECT_EQ(digests_of_suite(settings_).at("judge"), judge_digest());
}

/// Asked for the path's settings, `absent` lacks something, and `broken` does when it executes.
std::optional<Observation> lacks_something(const Job& job) {
  Observation seen;
  seen.outcome = Outcome::unsupported;
  const std::string name = job.parts[0].message["path"].value("name", "");
  const bool asked = job.parts[0].message["mode"] == "configure";
  if (asked && name == "own") seen.outcome = Outcome::returned;
  if (asked && name == "crashes") seen.outcome = Outcome::crashed;
  seen.stage = name == "broken" ? "prepare" : "configure";
  seen.reason = "no such\nsetting";
  return seen;
}

TEST_F(Sessions, LeaveOutDefaultPathsThatCannotBeUsedHere) {
  for (const char* name : {"absent", "broken", "crashes"}) {
    Json path = Json::parse(kPath);
    path["name"] = name;
    write(fmt::format("runner/paths/{}.json", name), path.dump());
  }
  Session session = opened();
  ASSERT_TRUE(session.start_on(std::make_unique<FakeEngine>(
      2, lacks_something, Json{{"devices", {"cpu"}}, {"modes", {"plain", "configure"}}})));
  ASSERT_TRUE(session.meet_torch());
  const auto planned = [&](const Filter& filter, std::string& absent) {
    PlanRequest request = session.plan_request(filter);
    absent.clear();
    const std::vector<AbsentPath> left_out = session.leave_out_absent(request).value();
    for (const AbsentPath& path : left_out) absent += path.name + ": " + path.reason;
    Diagnostics diagnostics;
    std::set<std::string> paths;
    for (const PlanItem& item : make_plan(request, diagnostics).items)
      paths.insert(request.paths[item.path].name);
    return std::vector<std::string>(paths.begin(), paths.end());
  };
  std::string absent;
  EXPECT_EQ(planned({}, absent), (std::vector<std::string>{"broken", "crashes", "own"}));
  EXPECT_EQ(absent, "absent: no such setting");
  EXPECT_EQ(planned(Filter::parse({"path:absent"}).value(), absent),
            std::vector<std::string>{"absent"});
  EXPECT_EQ(absent, "");
}

TEST_F(Sessions, AskNoWorkerThatDoesNotKnowHow) {
  Session session = opened();
  ASSERT_TRUE(session.start_on(std::make_unique<FakeEngine>(
      2,
      [](const Job& job) -> std::optional<Observation> {
        ADD_FAILURE() << job.id;
        return Observation{};
      },
      Json{{"devices", {"cpu"}}, {"modes", {"plain"}}})));
  ASSERT_TRUE(session.meet_torch());
  PlanRequest request = session.plan_request({});
  EXPECT_TRUE(session.leave_out_absent(request).value().empty());
}

}  // namespace
}  // namespace lockstep
