#include "run/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "cases/suite.h"
#include "engine/local_testing.h"
#include "plan/share.h"
#include "record/tally.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

/// Hears everything, remembers the verdicts.
class Ear : public Reporter {
 public:
  void run_started(const RunInfo&) override {}
  void note(const std::string&) override {}
  void running(const std::vector<std::string>& under_way,
               const std::vector<std::string>&) override {
    started.insert(under_way.begin(), under_way.end());
  }
  void verdict(const Verdict& verdict) override { ids.push_back(verdict.facts.id); }
  void run_ended(const RunRecord&) override { ended = true; }
  std::vector<std::string> ids;
  std::set<std::string> started;  ///< executions, by name
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
    Diagnostics diagnostics;
    file_ = parse_case_file({"cases/bugs/1.json", kCase, {}}, diagnostics);
    suite_ = {file_};
  }

  Path path(const std::string& name) {
    Path result;
    result.name = name;
    result.contract = Contract::bits;
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
    WorkerSpec worker{"fake", {"python3", kFakeWorker}, {}};
    const WorkerSpec eager{"eager", {"python3", kFakeWorker, "as=" + eager_}, {}};
    LocalEngine engine({jobs, {2, 2, 20}, scratch_.path(), scratch_.path(), fake_hello()});
    engine.warm_up(eager);
    while (engine.hello_of(eager) == nullptr) engine.step(0.05);
    RunSettings settings;
    settings.directory = scratch_.path() / directory;
    settings.workplace.scratch = scratch_.path();
    settings.workplace.jobs = jobs;
    if (resume) {
      auto before = read_log(settings.directory);
      if (!before) return tl::unexpected(before.error());
      settings.resumed = std::move(*before);
    }
    settings.workplace.eager = eager;
    settings.workplace.worker_of = [&](const Path&) { return worker; };
    settings.info.plan = made.digest;
    settings.info.planned = made.items.size();
    settings.expectations = std::move(expectations);
    settings.conditions = {"2.13.0", "avx512", {}, "2026-11-21"};
    if (resume) {
      const Json now = {{"torch", torch_}, {"cpu_capability", "AVX2"}};
      if (auto can = can_resume(*settings.resumed, settings.info, now); !can)
        return tl::unexpected(can.error());
    }
    ear_ = {};
    return execute(made, engine, settings, ear_);
  }

  /// Goes on with a run of which this much of the log is left.
  Result<RunRecord> resume(const Plan& made, const std::string& directory, std::string_view log) {
    fs::create_directory(scratch_.path() / directory);
    EXPECT_TRUE(write_file(scratch_.path() / directory / "run.jsonl", log));
    return run(made, directory, true);
  }

  static std::string statuses(const RunRecord& record) {
    std::string text;
    for (const Verdict& verdict : record.verdicts)
      text += verdict.facts.id + " " + std::string(info(verdict.found.status).name) + "\n";
    return text;
  }

  Scratch scratch_;
  CaseFile file_;
  std::vector<CaseFile> suite_;
  std::string eager_ = "eager";   ///< what the eager worker does
  std::string torch_ = "2.13.0";  ///< what a run that is resumed finds
  Ear ear_;
};

TEST_F(Runs, JudgeEverySabotageAsWhatItIs) {
  const std::vector<std::pair<std::string, Status>> expected = {
      {"babble", Status::worker_lost},
      {"conform", Status::conform},
      {"crash", Status::crash},
      {"flip", Status::value_diverges},
      {"half", Status::worker_lost},
      {"raise", Status::spurious_error},
      {"transpose", Status::metadata_diverges},
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
    EXPECT_EQ(verdict.facts.id, made.items[i].id);
    EXPECT_EQ(info(verdict.found.status).name, info(status).name)
        << verdict.facts.id << ": " << verdict.found.reason;
    EXPECT_EQ(verdict.found.reason.empty(), verdict.found.status == Status::conform)
        << verdict.facts.id;
    EXPECT_EQ(verdict.origin.repro, "ci/lockstep run '" + verdict.facts.id + "'");
    EXPECT_EQ(ear_.ids[i], verdict.facts.id);
  }
  EXPECT_TRUE(ear_.ended);
}

// An error of Dynamo's tracing fails the paths of torch, and is kept beside a vendor's, whose
// backend was never reached; what the vendor's own compiler raises fails either.
TEST_F(Runs, AnErrorOfTheFrontEndIsNotAVendors) {
  Plan made = plan({"raise", "raise-in-tracing"});
  for (const bool torchs_own : {true, false}) {
    for (Path& path : made.paths) path.torchs_own = torchs_own;
    const auto record = run(made, torchs_own ? "torchs" : "vendors");
    ASSERT_TRUE(record) << record.error().message;
    for (const Verdict& verdict : record->verdicts) {
      const bool traced = verdict.facts.path == "raise-in-tracing";
      EXPECT_EQ(verdict.found.front_end, traced) << verdict.facts.id;
      EXPECT_EQ(verdict.found.status, traced ? Status::internal_error : Status::spurious_error);
      EXPECT_EQ(verdict.fails(true), torchs_own || !traced) << verdict.facts.id;
      EXPECT_EQ(verdict.account.standing,
                torchs_own || !traced ? Standing::new_ : Standing::waived);
      EXPECT_EQ(verdict.account.expectation.has_value(), !torchs_own && traced);
    }
  }
}

TEST_F(Runs, AreTheSameWhateverTheNumberOfJobs) {
  const Plan made = plan({"conform", "crash", "flip"});
  const auto one = run(made, "one", false, 1);
  const auto many = run(made, "many", false, 4);
  ASSERT_TRUE(one && many);
  EXPECT_EQ(statuses(*one), statuses(*many));
}

TEST_F(Runs, JudgeWithTheGoldsThatWereAskedForAndNoOthers) {
  eager_ = "negate-stepwise";  // so that a path that negates keeps the contract `casts`
  Plan made = plan({"negate", "copy"});
  for (Path& path : made.paths) path.contract = Contract::casts;
  const auto record = run(made, "golds", false, 1);
  ASSERT_TRUE(record);
  for (const Verdict& verdict : record->verdicts)
    EXPECT_EQ(verdict.found.status, Status::conform)
        << verdict.facts.id << ": " << verdict.found.reason;
  std::set<std::string> golds;
  for (const std::string& id : ear_.started) {
    if (id.starts_with("bugs/1[rows=2]@cpu (")) golds.insert(id.substr(id.find('(')));
  }
  // The perturbed one would tell why it differs; asked for before the stepwise one has spoken, it
  // would be under way still when its instance has all its verdicts.
  EXPECT_EQ(golds, (std::set<std::string>{"(fp64 gold)", "(stepwise gold)"}));
}

TEST_F(Runs, GoOnAfterAnEarlyEnd) {
  const Plan made = plan({"conform", "flip"});
  const auto whole = run(made, "whole");
  ASSERT_TRUE(whole);
  const std::string log = *read_file(scratch_.path() / "whole" / "run.jsonl");
  // Cut at every 97th byte: what kill -9 can leave behind.
  for (std::size_t cut = log.find('\n') + 1; cut < log.size(); cut += 97 * 11) {
    const std::string name = "cut" + std::to_string(cut);
    const auto resumed = resume(made, name, std::string_view(log).substr(0, cut));
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(statuses(*resumed), statuses(*whole)) << cut;
    EXPECT_EQ(ear_.ids.size(), made.items.size());
    const auto reread = read_log(scratch_.path() / name);
    ASSERT_TRUE(reread);
    EXPECT_EQ(statuses(*reread), statuses(*whole)) << cut;
  }
  EXPECT_FALSE(run(plan({"conform"}), "whole", true)) << "another plan must not be resumed";
  torch_ = "2.14.0";
  const auto other = run(made, "whole", true);
  ASSERT_FALSE(other) << "verdicts of two torches would pass for those of one";
  EXPECT_EQ(other.error().message,
            R"(the log is of a run with torch "2.13.0"; now it is "2.14.0")");
}

TEST(CanResume, SaysWhatIsOtherThanInTheLog) {
  RunRecord before;
  before.info.plan = "p";
  before.info.digests = {{"cases", "1"}, {"judge", "2"}};
  const auto refused = [&](const auto& change) {
    RunInfo now = before.info;
    RunRecord log = before;
    change(log, now);
    const auto can = can_resume(log, now, Json::object());
    return can ? std::string() : can.error().message;
  };
  EXPECT_EQ(refused([](RunRecord&, RunInfo&) {}), "");
  EXPECT_EQ(refused([](RunRecord&, RunInfo& now) { now.digests["judge"] = "3"; }),
            "the log is of a run with other judge");
  EXPECT_EQ(refused([](RunRecord&, RunInfo& now) {
              now.digests = {{"judge", "2"}, {"x", "1"}};
            }),
            "the log is of a run with other cases, x");
  EXPECT_EQ(refused([](RunRecord&, RunInfo& now) { now.plan = "q"; }),
            "the log is of another plan");
}

TEST_F(Runs, GiveVerdictsTheirStanding) {
  Expectation rule;
  rule.instances = {"bugs/1[rows=2]@cpu"};
  rule.paths = {"flip"};
  rule.status = Status::value_diverges;
  rule.because = Because::bug;
  const auto record = run(plan({"flip"}), "known", false, 2, {rule});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->verdicts[0].account.standing, Standing::new_);
  EXPECT_EQ(record->verdicts[1].account.standing, Standing::known);
  EXPECT_EQ(tally(*record, false)[Column::failing], 2U);
  EXPECT_EQ(tally(*record, false)[Column::known], 1U);
}

/// What a plan's cases do when they may be compiled in one graph.
class SharedRuns : public Runs {
 protected:
  Plan shared_plan(const std::vector<std::string>& paths, bool eager_must_return = false) {
    Plan made = plan(paths);
    for (Instance& instance : made.instances) {
      Case declared = *instance.declared;
      declared.share = true;
      declared.eager_must_return = eager_must_return;
      instance.declared = std::make_shared<const Case>(std::move(declared));
    }
    share(made);
    return made;
  }
  /// "conform 2" with how many others it was compiled, for each verdict.
  static std::vector<std::string> outline(const RunRecord& record) {
    std::vector<std::string> lines;
    for (const Verdict& verdict : record.verdicts)
      lines.push_back(fmt::format("{} {}", info(verdict.found.status).name, verdict.origin.shared));
    return lines;
  }
};

TEST_F(SharedRuns, WhatConformsInOneGraphIsJudgedThere) {
  const auto record = run(shared_plan({"conform"}), "shared");
  ASSERT_TRUE(record);
  EXPECT_EQ(outline(*record), (std::vector<std::string>{"conform 2", "conform 2", "conform 2"}));
}

TEST_F(SharedRuns, OnlyWhatAProgramDoesAloneCountsAgainstIt) {
  // The bit that is flipped in the graph of three is the first one's; alone it has one, too.
  const auto flipped = run(shared_plan({"flip"}), "flip");
  ASSERT_TRUE(flipped);
  EXPECT_EQ(outline(*flipped),
            (std::vector<std::string>{"value_diverges 0", "conform 2", "conform 2"}));
  // This one flips it in a graph of several only.
  const auto crowded = run(shared_plan({"flip-crowd"}), "crowd");
  ASSERT_TRUE(crowded);
  EXPECT_EQ(outline(*crowded), (std::vector<std::string>{"conform 0", "conform 2", "conform 2"}));
}

TEST_F(SharedRuns, AGraphThatFailsIsHalved) {
  const auto narrow = run(shared_plan({"narrow"}), "narrow");  // takes two programs, not three
  ASSERT_TRUE(narrow);
  EXPECT_EQ(outline(*narrow), (std::vector<std::string>{"conform 0", "conform 1", "conform 1"}));
  for (const char* how : {"raise", "crash", "half"}) {
    const auto alone = run(shared_plan({how}), how);
    ASSERT_TRUE(alone);
    for (const Verdict& verdict : alone->verdicts) {
      EXPECT_NE(verdict.found.status, Status::conform) << how;
      EXPECT_EQ(verdict.origin.shared, 0U) << how;
    }
  }
}

TEST_F(SharedRuns, WhereEagerRaisesThereMayBeNothingToAsk) {
  eager_ = "raise-2";  // for the instance of two rows
  const auto asked = run(shared_plan({"conform"}), "asked");
  ASSERT_TRUE(asked);
  EXPECT_EQ(outline(*asked),
            (std::vector<std::string>{"conform 1", "validation_lost 0", "conform 1"}));
  const auto nothing = run(shared_plan({"conform"}, true), "nothing");
  ASSERT_TRUE(nothing);
  EXPECT_EQ(outline(*nothing),
            (std::vector<std::string>{"conform 1", "unsupported 0", "conform 1"}));
  EXPECT_EQ(nothing->verdicts[1].found.reason, "eager raises RuntimeError: made up");
  EXPECT_EQ(nothing->verdicts[1].found.unsupported_by, UnsupportedBy::reference);
}

TEST_F(SharedRuns, GoOnAfterAnEarlyEnd) {
  const Plan made = shared_plan({"conform", "flip-crowd"});
  const auto whole = run(made, "whole");
  ASSERT_TRUE(whole);
  const std::string log = *read_file(scratch_.path() / "whole" / "run.jsonl");
  for (std::size_t cut = log.find('\n') + 1; cut < log.size(); cut += 997) {
    const std::string name = "cut" + std::to_string(cut);
    const auto resumed = resume(made, name, std::string_view(log).substr(0, cut));
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(statuses(*resumed), statuses(*whole)) << cut;
  }
}

}  // namespace
}  // namespace lockstep
