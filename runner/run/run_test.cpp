#include "run/run.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "cases/decode.h"
#include "run/scratch.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

/// Hears everything, remembers the verdicts.
class Ear : public Reporter {
 public:
  void run_started(const RunInfo&) override {}
  void note(const std::string&) override {}
  void running(const std::vector<std::string>&) override {}
  void verdict(const Verdict& verdict) override { ids.push_back(verdict.id); }
  void run_ended(const RunRecord&) override { ended = true; }
  std::vector<std::string> ids;
  bool ended = false;
};

constexpr const char* kCase = R"({
  "format": 1, "title": "passes its input on",
  "matrix": {"rows": [1, 2, 3]},
  "inputs": {"x": {"dtype": "float32", "shape": ["$rows", 4], "fill": {"arange": {"start": 1}}}},
  "steps": [{"let": "y", "op": "clone.default", "args": ["%x"]}],
  "outputs": ["x", "y"]
})";

/// Whole runs with the fake worker in every role.
class Runs : public testing::Test {
 protected:
  Runs() : scratch_(std::move(*Scratch::create())) {
    file_.file = {"cases/bugs/1.json", kCase, {}};
    file_.id = "bugs/1";
    Diagnostics diagnostics;
    parse_json(file_.file, diagnostics);
    Reader reader(file_.file, diagnostics);
    file_.choices = matrix_choices(reader, file_.file.root);
    suite_ = {file_};
  }

  Path path(const std::string& name) {
    Path result;
    result.name = name;
    result.promise = Promise::bits;
    result.is_default = true;
    result.devices = {"*"};
    result.compiles = true;
    result.declared = {{"name", name}};
    return result;
  }

  Plan plan(const std::vector<std::string>& paths) {
    PlanRequest request{&suite_, {}, {"cpu"}, {}, {}};
    for (const std::string& name : paths) request.paths.push_back(path(name));
    Diagnostics diagnostics;
    Plan made = make_plan(request, diagnostics);
    for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << to_string(diagnostic);
    return made;
  }

  Result<RunRecord> run(const Plan& made, const std::string& directory, bool resume = false,
                        std::size_t jobs = 2, std::vector<Expectation> expectations = {}) {
    const std::string script =
        std::string(LOCKSTEP_SOURCE_DIR) + "/runner/run/testdata/fake_worker.py";
    const WorkerSpec worker{"fake", {{"python3", script}, {}, scratch_.path() / "log"}};
    const Json hello = {{"type", "hello"},
                        {"protocol", 1},
                        {"threads", 1},
                        {"scratch", scratch_.path().string()},
                        {"cache", nullptr},
                        {"limits", {{"memory_bytes", 0}, {"file_bytes", 0}}},
                        {"libraries", Json::array()}};
    Executor executor({jobs, {2, 2, 20}, scratch_.path(), hello, false});
    executor.warm_up(worker);
    while (executor.hello_of(worker) == nullptr) executor.step(0.05);
    RunSettings settings;
    settings.directory = scratch_.path() / directory;
    settings.scratch = scratch_.path();
    settings.jobs = jobs;
    settings.resume = resume;
    settings.eager = worker;
    settings.worker_of = [&](const Path&) { return worker; };
    settings.info.plan = made.digest;
    settings.info.planned = made.items.size();
    settings.expectations = std::move(expectations);
    settings.scene = {"2.13.0", "avx512", "2026-11-21"};
    ear_ = {};
    return execute(made, executor, settings, ear_);
  }

  static std::string statuses(const RunRecord& record) {
    std::string text;
    for (const Verdict& verdict : record.verdicts)
      text += verdict.id + " " + std::string(info(verdict.status).name) + "\n";
    return text;
  }

  Scratch scratch_;
  CaseFile file_;
  std::vector<CaseFile> suite_;
  Ear ear_;
};

TEST_F(Runs, JudgeEverySabotageAsWhatItIs) {
  const std::vector<std::pair<std::string, Status>> expected = {
      {"babble", Status::worker_lost},
      {"conform", Status::conform},
      {"crash", Status::crash},
      {"flip", Status::value_differs},
      {"half", Status::worker_lost},
      {"raise", Status::spurious_error},
      {"transpose", Status::metadata_differs},
      {"uncompiled", Status::not_compiled}};
  std::vector<std::string> names;
  for (const auto& [name, status] : expected) names.push_back(name);
  const Plan made = plan(names);
  ASSERT_EQ(made.items.size(), 3 * names.size());
  const auto record = run(made, "sabotage");
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(record->verdicts.size(), made.items.size());
  for (std::size_t i = 0; i < record->verdicts.size(); ++i) {
    const Verdict& verdict = record->verdicts[i];
    const auto& [name, status] = expected[i % expected.size()];
    EXPECT_EQ(verdict.id, made.items[i].id);
    EXPECT_EQ(info(verdict.status).name, info(status).name) << verdict.id << ": " << verdict.reason;
    EXPECT_EQ(verdict.reason.empty(), verdict.status == Status::conform) << verdict.id;
    EXPECT_EQ(verdict.repro, "ci/lockstep run '" + verdict.id + "'");
    EXPECT_EQ(ear_.ids[i], verdict.id);
  }
  EXPECT_TRUE(ear_.ended);
}

TEST_F(Runs, AreTheSameWhateverTheNumberOfJobs) {
  const Plan made = plan({"conform", "crash", "flip"});
  const auto one = run(made, "one", false, 1);
  const auto many = run(made, "many", false, 4);
  ASSERT_TRUE(one && many);
  EXPECT_EQ(statuses(*one), statuses(*many));
}

TEST_F(Runs, GoOnAfterAnEarlyEnd) {
  const Plan made = plan({"conform", "flip"});
  const auto whole = run(made, "whole");
  ASSERT_TRUE(whole);
  const std::string log = *read_file(scratch_.path() / "whole" / "run.jsonl");
  // Cut at every 97th byte: what kill -9 can leave behind.
  for (std::size_t cut = log.find('\n') + 1; cut < log.size(); cut += 97 * 11) {
    const std::string name = "cut" + std::to_string(cut);
    fs::create_directory(scratch_.path() / name);
    ASSERT_TRUE(
        write_file(scratch_.path() / name / "run.jsonl", std::string_view(log).substr(0, cut)));
    const auto resumed = run(made, name, true);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(statuses(*resumed), statuses(*whole)) << cut;
    EXPECT_EQ(ear_.ids.size(), made.items.size());
    const auto reread = read_log(scratch_.path() / name);
    ASSERT_TRUE(reread);
    EXPECT_EQ(statuses(*reread), statuses(*whole)) << cut;
  }
  EXPECT_FALSE(run(plan({"conform"}), "whole", true)) << "another plan must not be resumed";
}

TEST_F(Runs, GiveVerdictsTheirStanding) {
  Expectation rule;
  rule.instances = {"bugs/1[rows=2]@cpu"};
  rule.paths = {"flip"};
  rule.status = Status::value_differs;
  rule.because = "bug";
  const auto record = run(plan({"flip"}), "known", false, 2, {rule});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->verdicts[0].standing, Standing::plain);
  EXPECT_EQ(record->verdicts[1].standing, Standing::known);
  EXPECT_EQ(tally(*record, false).failing, 2U);
  EXPECT_EQ(tally(*record, false).known, 1U);
}

}  // namespace
}  // namespace lockstep
