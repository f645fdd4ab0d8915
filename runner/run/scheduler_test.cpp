#include "run/scheduler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <set>

#include "cases/suite.h"
#include "engine/fake.h"
#include "engine/scratch.h"
#include "plan/share.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

constexpr const char* kDoubler = R"({
  "format": 1, "title": "adds its input to itself",
  "matrix": {"rows": [1, 2, 3]},
  "inputs": {"x": {"dtype": "float32", "shape": ["$rows", 4], "fill": {"arange": {"start": 1}}}},
  "steps": [{"let": "y", "op": "add.Tensor", "args": ["%x", "%x"]}],
  "outputs": ["y"]
})";

/// A storage of an observation that no worker made.
std::shared_ptr<const FileCopy> storage_of(const fs::path& file, std::string_view bytes) {
  EXPECT_TRUE(write_file(file, bytes));
  auto copy = FileCopy::open(file);
  EXPECT_TRUE(copy);
  return *copy;
}

/// Schedulers on an engine without processes.
class Schedulers : public testing::Test {
 protected:
  Schedulers() : scratch_(std::move(*Scratch::create())) {
    Diagnostics diagnostics;
    file_ = parse_case_file({"cases/bugs/1.json", kDoubler, {}}, diagnostics);
    suite_ = {file_};
  }

  /// What every execution of a program returns: for each output as many twos as the input at its
  /// place has elements, with another last one where `differs`.
  Observation returned(const Job& job, bool differs = false) {
    const Json& message = job.parts.at(0).message;
    Observation seen;
    seen.outcome = Outcome::returned;
    seen.stage = "run";
    seen.proof = {{"graphs", 1}};
    Json storages = Json::array();
    // Those of a shared graph lie in several folders.
    for (const StorageFile& storage : job.storages) {
      const std::string name = fmt::format("given{}", made_++);
      fs::copy_file(storage.file, scratch_.path() / name);
      storages.push_back({{"file", name}, {"bytes", storage.bytes}});
    }
    const auto inputs = read_calls(scratch_.path(), storages, message["calls"]);
    EXPECT_TRUE(inputs);
    seen.storages = inputs->storages;
    CallResult call;
    for (const Json& name : message["program"]["outputs"]) {
      TensorView view = std::get<TensorView>(inputs->calls.at(0).at(call.outputs.size()).second);
      std::vector<float> values(static_cast<std::size_t>(view.elements()), 2);
      if (differs) values.back() = 3;
      const std::string_view bytes(reinterpret_cast<const char*>(values.data()),
                                   values.size() * sizeof(float));
      seen.storages.push_back(storage_of(scratch_.path() / fmt::format("made{}", made_++), bytes));
      view.bytes = seen.storages.back()->bytes();
      view.storage = static_cast<int>(seen.storages.size());
      call.outputs.emplace_back(name.get<std::string>(), view);
    }
    call.inputs = inputs->calls.at(0);
    seen.repetitions.assign(message["repeat"].get<std::size_t>(), {call});
    return seen;
  }

  Plan plan(const std::vector<std::string>& paths, const std::string& device = "cpu") {
    PlanRequest request{&suite_, {}, {device}, {}, {}};
    for (const std::string& name : paths) {
      Path path;
      path.name = name;
      path.contract = Contract::bits;
      path.is_default = true;
      path.devices = {"*"};
      path.compiles = true;
      path.declared = {{"name", name}};
      if (name == "kernels") path.reference.device = "cpu";
      request.paths.push_back(path);
    }
    Diagnostics diagnostics;
    Plan made = make_plan(request, diagnostics);
    for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << to_string(diagnostic);
    return made;
  }

  /// The case as that many instances of one graph, which differ in their number of rows.
  Plan shared_plan(int instances) {
    Json& root = file_.file.root;
    root["share"] = true;
    root["matrix"]["rows"] = Json::array();
    for (int rows = 1; rows <= instances; ++rows) root["matrix"]["rows"].push_back(rows);
    Diagnostics diagnostics;
    Reader reader(file_.file, diagnostics);
    file_.choices = matrix_choices(reader, root);
    suite_ = {file_};
    return plan({"crowded"});
  }

  SchedulerOptions options(std::size_t jobs) const {
    SchedulerOptions result;
    result.workplace.jobs = jobs;
    result.workplace.scratch = scratch_.path();
    result.workplace.eager = {"eager", {"eager"}, {}};
    result.workplace.worker_of = [](const Path& path) {
      return WorkerSpec{path.name, {path.name}, {}};
    };
    result.workplace.torch = "2.13.0";
    return result;
  }

  /// Runs a plan to its end; "ID STATUS" of each verdict in the order of the plan.
  static std::vector<std::string> verdicts(const Plan& made, Engine& engine,
                                           SchedulerOptions options) {
    std::vector<std::string> result(made.items.size());
    Scheduler scheduler(made, engine, std::move(options), std::vector<bool>(made.items.size()));
    scheduler.on_verdict = [&](const Verdict& verdict) {
      EXPECT_TRUE(result[verdict.facts.index].empty()) << verdict.facts.id << " has two verdicts";
      result[verdict.facts.index] =
          fmt::format("{} {}", verdict.facts.id, info(verdict.found.status).name);
    };
    while (!scheduler.done()) {
      scheduler.advance();
      engine.step(0.05);
      while (scheduler.hear()) {
      }
    }
    EXPECT_TRUE(engine.idle());
    return result;
  }

  Scratch scratch_;
  CaseFile file_;
  std::vector<CaseFile> suite_;
  int made_ = 0;
};

/// Whether the job is that of a path, and of which one.
bool is_of_path(const Job& job, const std::string& path) {
  return job.parts[0].worker.name == path;
}

TEST_F(Schedulers, AskForStoragesAndNameNoDirectoryOfThisMachine) {
  const Plan made = plan({"good"});
  std::vector<std::string> ids;
  FakeEngine engine(1, [&](const Job& job) {
    ids.push_back(job.id);
    EXPECT_EQ(job.storages.size(), 1U);
    EXPECT_EQ(job.parts.at(0).message.dump().find(scratch_.path().string()), std::string::npos);
    return returned(job);
  });
  EXPECT_EQ(verdicts(made, engine, options(1)),
            (std::vector<std::string>{"bugs/1[rows=1]@cpu/good conform",
                                      "bugs/1[rows=2]@cpu/good conform",
                                      "bugs/1[rows=3]@cpu/good conform"}));
  EXPECT_EQ(ids.size(), 6U);
  EXPECT_EQ(ids[0], "bugs/1[rows=1]@cpu/eager");
}

TEST_F(Schedulers, ExecuteAPartSeveralTimes) {
  const Plan made = plan({"good"});
  FakeEngine engine(1, [&](const Job& job) { return returned(job); });
  SchedulerOptions settings = options(1);
  settings.executions = 3;
  settings.repeated = [](const std::string& id) { return id == "bugs/1[rows=2]@cpu/good"; };
  std::map<std::string, std::map<Status, int>> executions;
  Scheduler scheduler(made, engine, std::move(settings), std::vector<bool>(made.items.size()));
  scheduler.on_verdict = [&](const Verdict& verdict) {
    executions[verdict.facts.id] = verdict.found.executions;
  };
  while (!scheduler.done()) {
    scheduler.advance();
    engine.step(0.05);
    while (scheduler.hear()) {
    }
  }
  EXPECT_EQ(executions, (std::map<std::string, std::map<Status, int>>{
                            {"bugs/1[rows=1]@cpu/good", {}},
                            {"bugs/1[rows=2]@cpu/good", {{Status::conform, 3}}},
                            {"bugs/1[rows=3]@cpu/good", {}}}));
}

TEST_F(Schedulers, AProcessThatBreaksWhenItExitsIsSaidOnceOfItsPath) {
  const Plan made = plan({"good"});
  FakeEngine engine(1, [&](const Job& job) {
    Observation seen = returned(job);
    if (is_of_path(job, "good")) seen.at_exit = "exited with 3";
    return seen;
  });
  Scheduler scheduler(made, engine, options(1), std::vector<bool>(made.items.size()));
  std::vector<std::string> said;
  std::size_t conforming = 0;
  scheduler.on_note = [&](const std::string& text) { said.push_back(text); };
  scheduler.on_environment = [&](const std::string& name, const Json& values) {
    said.push_back(name + " " + values.dump());
  };
  scheduler.on_verdict = [&](const Verdict& verdict) {
    conforming += verdict.found.status == Status::conform;
  };
  while (!scheduler.done()) {
    scheduler.advance();
    engine.step(0.05);
    while (scheduler.hear()) {
    }
  }
  EXPECT_EQ(said, (std::vector<std::string>{
                      R"(path good {"lacks a clean exit":"exited with 3, after it had answered"})",
                      "the process of path good exited with 3, after it had answered"}));
  EXPECT_EQ(conforming, 3U);
}

TEST_F(Schedulers, AWorkerOfAPathThatBreaksWhenItIsDismissedIsSaidOfItsPath) {
  Plan made = plan({"good", "mine"});
  for (Path& path : made.paths) {
    if (path.name == "mine") path.command = {"mine"};
  }
  FakeEngine engine(1, [&](const Job& job) { return returned(job); });
  engine.exits = {{"good", "exited with 4"}, {"mine", "was killed by signal 6 (Aborted)"}};
  Scheduler scheduler(made, engine, options(1), std::vector<bool>(made.items.size(), true));
  std::vector<std::string> said;
  scheduler.on_note = [&](const std::string& text) { said.push_back(text); };
  scheduler.dismiss_workers();
  scheduler.dismiss_workers();
  EXPECT_EQ(said, std::vector<std::string>{"the process of path mine was killed by signal 6 "
                                           "(Aborted), after it had answered"});
}

// What a path declares costs no execution: neither of its own, nor of eager where no path is left.
TEST_F(Schedulers, ExecuteNothingThatIsDeclared) {
  Plan made = plan({"good", "mine"});
  for (PlanItem& item : made.items) {
    const bool is_mine = made.paths[item.path].name == "mine";
    const bool is_first = item.id.starts_with("bugs/1[rows=1]");
    if (is_mine || is_first) item.declared.unsupported = "no add of ours";
  }
  std::vector<std::string> ids;
  FakeEngine engine(1, [&](const Job& job) {
    ids.push_back(job.id);
    return returned(job);
  });
  std::vector<Verdict> heard;
  Scheduler scheduler(made, engine, options(1), std::vector<bool>(made.items.size()));
  scheduler.on_verdict = [&](const Verdict& verdict) { heard.push_back(verdict); };
  while (!scheduler.done()) {
    scheduler.advance();
    engine.step(0.05);
    while (scheduler.hear()) {
    }
  }
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()),
            (std::set<std::string>{"bugs/1[rows=2]@cpu/eager", "bugs/1[rows=3]@cpu/eager",
                                   "bugs/1[rows=2]@cpu/good", "bugs/1[rows=3]@cpu/good"}));
  EXPECT_EQ(ids.size(), 4U);
  ASSERT_EQ(heard.size(), 6U);
  for (const Verdict& verdict : heard) {
    const bool executed = std::count(ids.begin(), ids.end(), verdict.facts.id) == 1;
    EXPECT_EQ(verdict.found.status, executed ? Status::conform : Status::unsupported)
        << verdict.facts.id;
    EXPECT_EQ(verdict.found.unsupported_by == UnsupportedBy::declaration, !executed)
        << verdict.facts.id;
    EXPECT_EQ(verdict.found.reason, executed ? "" : "declared: no add of ours") << verdict.facts.id;
    EXPECT_FALSE(verdict.facts.program.empty()) << verdict.facts.id;
  }
}

TEST_F(Schedulers, ExecuteWhatIsAddedLater) {
  const Plan made = plan({"good"});
  FakeEngine engine(1, [&](const Job& job) { return returned(job); });
  std::vector<std::size_t> heard;
  Scheduler scheduler(made, engine, options(1), std::vector<bool>(made.items.size(), true));
  scheduler.on_verdict = [&](const Verdict& verdict) { heard.push_back(verdict.facts.index); };
  EXPECT_TRUE(scheduler.done()) << "nothing was added";
  const auto until = [&](std::size_t count) {
    for (int i = 0; i < 1000 && heard.size() < count; ++i) {
      scheduler.advance();
      engine.step(0.05);
      while (scheduler.hear()) {
      }
    }
    return heard.size() == count;
  };
  scheduler.add({2});
  EXPECT_FALSE(scheduler.done());
  EXPECT_TRUE(until(1));
  scheduler.add({0});
  scheduler.advance();
  scheduler.add({1});  // maybe of the same graph, which is under way
  EXPECT_TRUE(until(3));
  scheduler.advance();
  EXPECT_TRUE(scheduler.done());
  EXPECT_EQ(heard, (std::vector<std::size_t>{2, 0, 1}));
}

/// A plan to its end: all verdicts.
std::vector<Verdict> run_plan(const Plan& made, Engine& engine, SchedulerOptions options) {
  std::vector<Verdict> heard(made.items.size());
  Scheduler scheduler(made, engine, std::move(options), std::vector<bool>(made.items.size()));
  scheduler.on_verdict = [&](const Verdict& verdict) { heard[verdict.facts.index] = verdict; };
  while (!scheduler.done()) {
    scheduler.advance();
    engine.step(0.05);
    while (scheduler.hear()) {
    }
  }
  return heard;
}

// A device whose eager is wrong: what is compared with it conforms, what is compared with the CPU's
// does not.  Each is executed once, and golds are made where the reference is.
TEST_F(Schedulers, CompareEachPathWithTheEagerThatItNames) {
  const Plan made = plan({"good", "kernels", "same"}, "cuda:0");
  std::vector<std::string> eager;
  FakeEngine engine(2, [&](const Job& job) {
    const Json& message = job.parts[0].message;
    const std::string device = message["device"];
    if (job.parts[0].worker.name == "eager") eager.push_back(job.id + " " + device);
    return returned(job, device == "cuda:0");
  });
  const std::vector<Verdict> heard = run_plan(made, engine, options(2));
  for (const Verdict& verdict : heard) {
    const bool is_kernels = verdict.facts.path == "kernels";
    EXPECT_EQ(verdict.found.status, is_kernels ? Status::value_diverges : Status::conform)
        << verdict.facts.id;
    EXPECT_EQ(verdict.facts.reference, is_kernels ? "on cpu" : "") << verdict.facts.id;
  }
  std::sort(eager.begin(), eager.end());
  EXPECT_EQ(std::adjacent_find(eager.begin(), eager.end()), eager.end());
  EXPECT_EQ(std::vector<std::string>(eager.begin(), eager.begin() + 5),
            (std::vector<std::string>{"bugs/1[rows=1]@cuda:0 (fp64 gold (on cpu)) cpu",
                                      "bugs/1[rows=1]@cuda:0 (perturbed gold (on cpu)) cpu",
                                      "bugs/1[rows=1]@cuda:0/eager (on cpu) cpu",
                                      "bugs/1[rows=1]@cuda:0/eager cuda:0",
                                      "bugs/1[rows=2]@cuda:0 (fp64 gold (on cpu)) cpu"}));
}

// Eager that no path is compared with any more is not executed.
TEST_F(Schedulers, ExecuteOnlyTheEagerThatSomethingIsComparedWith) {
  Plan made = plan({"good", "kernels"}, "cuda:0");
  for (PlanItem& item : made.items) {
    if (made.paths[item.path].name == "good") item.declared.unsupported = "not this time";
  }
  std::set<std::string> devices;
  FakeEngine engine(1, [&](const Job& job) {
    if (job.parts[0].worker.name == "eager") devices.insert(job.parts[0].message["device"]);
    return returned(job);
  });
  for (const Verdict& verdict : run_plan(made, engine, options(1))) {
    EXPECT_EQ(verdict.found.status,
              verdict.facts.path == "good" ? Status::unsupported : Status::conform)
        << verdict.facts.id;
  }
  EXPECT_EQ(devices, std::set<std::string>{"cpu"});
}

// Where one eager does not return, what is compared with another one is judged all the same.
TEST_F(Schedulers, AReferenceThatDoesNotReturnCostsThoseThatAreComparedWithIt) {
  Plan made = plan({"good", "kernels"}, "cuda:0");
  for (Instance& instance : made.instances) {
    auto strict = std::make_shared<Case>(*instance.declared);
    strict->eager_must_return = true;
    instance.declared = strict;
  }
  for (const std::string failing : {"cpu", "cuda:0"}) {
    FakeEngine engine(2, [&](const Job& job) {
      Observation seen = returned(job);
      if (job.parts[0].worker.name == "eager" && job.parts[0].message["device"] == failing)
        seen.outcome = Outcome::crashed;
      return seen;
    });
    for (const Verdict& verdict : run_plan(made, engine, options(2))) {
      const bool fails = (verdict.facts.path == "kernels") == (failing == "cpu");
      EXPECT_EQ(verdict.found.status, fails ? Status::unsupported : Status::conform)
          << verdict.facts.id;
      EXPECT_EQ(verdict.found.unsupported_by == UnsupportedBy::reference, fails)
          << verdict.facts.id;
    }
  }
}

// What draws random numbers, and what is not meant for the other device, has no reference there;
// `$device` means each side's own.
TEST_F(Schedulers, WhatAnotherDeviceCannotTellIsUnsupported) {
  Plan made = plan({"kernels"}, "cuda:0");
  auto random = std::make_shared<Case>(*made.instances[0].declared);
  random->random = true;
  made.instances[0].declared = random;
  made.instances[1].on_devices["cpu"] = nullptr;
  auto there = std::make_shared<Case>(*made.instances[2].declared);
  there->program.outputs = returning({"x"});
  made.instances[2].on_devices["cpu"] = there;
  std::vector<std::string> told;
  FakeEngine engine(1, [&](const Job& job) {
    told.push_back(job.id + " " + job.parts[0].message["program"]["outputs"].dump());
    return returned(job);
  });
  const std::vector<Verdict> heard = run_plan(made, engine, options(1));
  EXPECT_EQ(heard[0].found.reason,
            "the path is compared with eager on cpu, which draws other random numbers than cuda:0");
  EXPECT_EQ(heard[1].found.reason,
            "the path is compared with eager on cpu, for which the case is not meant");
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(heard[i].found.status, Status::unsupported);
    EXPECT_EQ(heard[i].found.unsupported_by, UnsupportedBy::reference);
  }
  EXPECT_EQ(told, (std::vector<std::string>{R"(bugs/1[rows=3]@cuda:0/eager (on cpu) ["x"])",
                                            R"(bugs/1[rows=3]@cuda:0/kernels ["y"])"}));
}

/// A path as a variant of another.
void put_at(Path& path, const Site& site, const Site& reference) {
  path.site = site;
  path.reference = reference;
}

// Of eager whose kernels are wrong at one CPU level, and whose sums are with several threads: who
// is compared with eager as it is there conforms, who is compared with the machine's own does not.
TEST_F(Schedulers, ExecuteVariantsAndTheirEagerWhereTheyBelong) {
  Plan made = plan({"avx2", "kernels.avx2", "kernels.threads", "plain", "threads"});
  put_at(made.paths[0], {"", "avx2", 0}, {"", "avx2", 0});
  put_at(made.paths[1], {"", "avx2", 0}, {"", "", 0});
  put_at(made.paths[2], {"", "", 4}, {"", "", 0});
  put_at(made.paths[4], {"", "", 4}, {"", "", 4});
  std::set<std::string> eager;
  FakeEngine engine(2, [&](const Job& job) {
    const WorkerSpec& worker = job.parts[0].worker;
    const int threads = job.parts[0].message.value("threads", 0);
    const bool is_eager = worker.argv.front() == "eager";
    if (is_eager && !job.id.ends_with("gold)"))
      eager.insert(fmt::format("{} {} {}", worker.name, worker.cpu_level, threads));
    EXPECT_TRUE(!is_eager || worker.environment.empty() == worker.cpu_level.empty()) << job.id;
    const bool is_variant = worker.name.ends_with("avx2") || threads == 4;
    return returned(job, is_variant);
  });
  std::map<std::string, std::string> found;
  for (const Verdict& verdict : run_plan(made, engine, options(2))) {
    found[verdict.facts.path] = fmt::format("{} ({}) {}", info(verdict.found.status).name,
                                            verdict.facts.reference, verdict.facts.threads);
  }
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"avx2", "conform (at avx2) 0"},
                                                       {"kernels.avx2", "value_diverges () 0"},
                                                       {"kernels.threads", "value_diverges () 4"},
                                                       {"plain", "conform () 0"},
                                                       {"threads", "conform (with 4 threads) 4"}}));
  EXPECT_EQ(eager, (std::set<std::string>{"eager  0", "eager  4", "eager.avx2 avx2 0"}));
}

TEST_F(Schedulers, ARelationOfThreadsIsExecutedWithAnotherNumberThanTheRest) {
  Diagnostics diagnostics;
  suite_ = {parse_case_file({"cases/bugs/1.json",
                             R"({"format": 1, "title": "t",
      "inputs": {"x": {"dtype": "float32", "shape": [2], "fill": "normal"}},
      "steps": [{"let": "y", "op": "neg", "args": ["%x"]}], "outputs": ["y"],
      "relations": ["threads"]})",
                             {}},
                            diagnostics)};
  ASSERT_TRUE(diagnostics.empty()) << to_string(diagnostics.front());
  const auto asked = [&](int usual) {
    std::multiset<int> threads;
    FakeEngine engine(1, [&](const Job& job) {
      threads.insert(job.parts[0].message.value("threads", 0));
      return returned(job, false);
    });
    SchedulerOptions of_run = options(1);
    of_run.workplace.threads = usual;
    run_plan(plan({"a"}), engine, of_run);
    return threads;
  };
  EXPECT_EQ(asked(1), (std::multiset<int>{0, 0, 2, 2}));
  EXPECT_EQ(asked(2), (std::multiset<int>{0, 0, 1, 1}));
}

TEST_F(Schedulers, ALevelThatTheMachineLacksIsUnsupportedWithoutAnExecution) {
  Plan made = plan({"avx512", "plain"});
  put_at(made.paths[0], {"", "avx512", 0}, {"", "avx512", 0});
  FakeEngine engine(1, [&](const Job& job) {
    EXPECT_TRUE(job.parts[0].worker.cpu_level.empty()) << job.id;
    return returned(job);
  });
  SchedulerOptions poor = options(1);
  poor.workplace.cpu_levels = {"default", "avx2"};
  for (const Verdict& verdict : run_plan(made, engine, poor)) {
    const bool lacks = verdict.facts.path == "avx512";
    EXPECT_EQ(verdict.found.status, lacks ? Status::unsupported : Status::conform)
        << verdict.facts.id;
    EXPECT_EQ(verdict.found.unsupported_by == UnsupportedBy::machine, lacks);
    EXPECT_EQ(verdict.found.reason,
              lacks ? "this machine has no CPU level avx512: torch can compute at "
                      "default and avx2 here"
                    : "");
  }
}

// What torch lacks is not the path's to declare, and a failure of eager leaves a declaration be.
TEST_F(Schedulers, EveryItemHasOneVerdictWhateverIsDeclared) {
  Plan made = plan({"good", "mine"});
  for (PlanItem& item : made.items) {
    if (made.paths[item.path].name == "mine") item.declared.unsupported = "no add of ours";
  }
  auto lacks = std::make_shared<Case>(*made.instances[0].declared);
  lacks->lacking = "aten::add";
  made.instances[0].declared = lacks;
  auto returns = std::make_shared<Case>(*made.instances[1].declared);
  returns->eager_must_return = true;
  made.instances[1].declared = returns;
  FakeEngine engine(1, [&](const Job&) {
    Observation seen;
    seen.outcome = Outcome::crashed;
    return seen;
  });
  std::map<std::string, bool> declared;
  Scheduler scheduler(made, engine, options(1), std::vector<bool>(made.items.size()));
  scheduler.on_verdict = [&](const Verdict& verdict) {
    EXPECT_TRUE(
        declared
            .emplace(verdict.facts.id, verdict.found.unsupported_by == UnsupportedBy::declaration)
            .second)
        << verdict.facts.id;
  };
  while (!scheduler.done()) {
    scheduler.advance();
    engine.step(0.05);
    while (scheduler.hear()) {
    }
  }
  EXPECT_EQ(declared, (std::map<std::string, bool>{{"bugs/1[rows=1]@cpu/good", false},
                                                   {"bugs/1[rows=1]@cpu/mine", false},
                                                   {"bugs/1[rows=2]@cpu/good", false},
                                                   {"bugs/1[rows=2]@cpu/mine", true},
                                                   {"bugs/1[rows=3]@cpu/good", false},
                                                   {"bugs/1[rows=3]@cpu/mine", true}}));
}

TEST_F(Schedulers, GoOnDispatchingWhileTheJudgeIsBusy) {
  const Plan made = plan({"first", "second"});
  // The judge is at its first item until the engine has been asked for the second instance, and the
  // engine goes on with that one only then: each would wait for the other if one thread did both.
  std::promise<void> dispatched;
  const std::shared_future<void> heard = dispatched.get_future().share();
  std::atomic<bool> judging = false;
  SchedulerOptions slow = options(1);
  slow.judge = [&](const JudgeRequest& request) {
    if (!judging.exchange(true)) {
      EXPECT_EQ(heard.wait_for(std::chrono::seconds(60)), std::future_status::ready)
          << "nothing was dispatched while the judge was busy";
    }
    return judge(request);
  };
  bool is_told = false;
  FakeEngine engine(1, [&](const Job& job) -> std::optional<Observation> {
    if (job.id.starts_with("bugs/1[rows=2]@cpu/") && !is_told) {
      if (!judging) return std::nullopt;
      is_told = true;
      dispatched.set_value();
    }
    return returned(job);
  });
  const auto result = verdicts(made, engine, slow);
  EXPECT_TRUE(is_told);
  for (const std::string& line : result) EXPECT_TRUE(line.ends_with(" conform")) << line;
}

TEST_F(Schedulers, GiveTheSameVerdictsWhateverTheNumberOfThreads) {
  const Plan made = plan({"good", "bad", "shy"});
  const auto answer = [&](const Job& job) {
    Observation seen = returned(job, is_of_path(job, "bad"));
    if (is_of_path(job, "shy")) {
      seen = {};
      seen.outcome = Outcome::unsupported;
      seen.reason = "not here";
    }
    return seen;
  };
  FakeEngine one(1, answer), many(4, answer);
  const auto expected = verdicts(made, one, options(1));
  EXPECT_EQ(expected[1], "bugs/1[rows=1]@cpu/bad value_diverges");
  EXPECT_EQ(expected[2], "bugs/1[rows=1]@cpu/shy unsupported");
  for (const std::size_t jobs : {2, 4, 8}) EXPECT_EQ(verdicts(made, many, options(jobs)), expected);
}

TEST_F(Schedulers, EndWhileAJudgeIsAtWork) {
  const Plan made = plan({"bad"});
  std::promise<void> begun, go_on;
  std::shared_future<void> may_go_on = go_on.get_future().share();
  std::atomic<int> judged = 0;
  SchedulerOptions slow = options(2);
  slow.judge = [&](const JudgeRequest& request) {
    if (judged++ == 0) {
      begun.set_value();
      may_go_on.wait();
    }
    return judge(request);  // reads all that the scheduler has let go of by then
  };
  std::thread helper;
  FakeEngine engine(2, [&](const Job& job) { return returned(job, is_of_path(job, "bad")); });
  {
    Scheduler scheduler(made, engine, slow, std::vector<bool>(made.items.size()));
    scheduler.on_verdict = [](const Verdict&) { ADD_FAILURE() << "nobody heard the judge"; };
    auto is_begun = begun.get_future();
    while (is_begun.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      scheduler.advance();
      engine.step(0.01);
    }
    helper = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      go_on.set_value();
    });
  }
  helper.join();
  EXPECT_TRUE(engine.idle()) << "jobs that would answer into the scheduler";
}

TEST_F(Schedulers, MakeAGoldOnceForAllThatAskForIt) {
  const Plan made = plan({"bad", "worse"});
  std::vector<std::string> golds;
  FakeEngine engine(2, [&](const Job& job) {
    if (job.id.ends_with("gold)")) golds.push_back(job.id);
    return returned(job, is_of_path(job, "bad") || is_of_path(job, "worse"));
  });
  const auto result = verdicts(made, engine, options(4));
  for (const std::string& line : result) EXPECT_TRUE(line.ends_with(" value_diverges")) << line;
  std::sort(golds.begin(), golds.end());
  EXPECT_FALSE(golds.empty());
  EXPECT_EQ(std::adjacent_find(golds.begin(), golds.end()), golds.end());
}

/// A case whose step is a function of Python, which C++ cannot make golds of.
constexpr const char* kCalls = R"({
  "format": 1, "title": "adds its input to itself in Python",
  "inputs": {"x": {"dtype": "float32", "shape": [2, 4], "fill": {"arange": {"start": 1}}}},
  "steps": [{"let": "y", "call": "torch.add", "args": ["%x", "%x"]}],
  "outputs": ["y"]
})";

TEST_F(Schedulers, LowerAProgramOnceBeforeItsGolds) {
  Diagnostics diagnostics;
  suite_ = {parse_case_file({"cases/bugs/2.json", kCalls, {}}, diagnostics)};
  const Plan made = plan({"bad", "worse"});
  const Json operators = {{"steps", Json::array({"what it calls"})}};
  for (const Outcome how : {Outcome::returned, Outcome::unsupported, Outcome::lost}) {
    const bool can = how == Outcome::returned;
    std::vector<std::string> order;  // lowered first, then the golds
    FakeEngine engine(2, [&](const Job& job) {
      const Json& message = job.parts.at(0).message;
      const bool lowers = job.id.ends_with("(lowered)");
      if (lowers) {
        order.emplace_back("lowered");
        EXPECT_TRUE(is_of_path(job, "bad") || is_of_path(job, "worse")) << "whichever asks first";
        Observation seen;
        seen.outcome = how;
        seen.lowered = operators;
        return seen;
      }
      if (job.id.ends_with("gold)")) {
        order.emplace_back("gold");
        EXPECT_EQ(message["program"] == operators, can) << job.id;
        Observation seen;
        seen.outcome = Outcome::unsupported;
        return seen;
      }
      return returned(job, is_of_path(job, "bad") || is_of_path(job, "worse"));
    });
    const auto result = verdicts(made, engine, options(4));
    const char* status = how == Outcome::lost ? " harness" : " value_diverges";
    for (const std::string& line : result) EXPECT_TRUE(line.ends_with(status)) << line;
    ASSERT_GT(order.size(), 1U);
    EXPECT_EQ(order.front(), "lowered");
    EXPECT_EQ(std::count(order.begin(), order.end(), "lowered"), 1);
  }
}

TEST_F(Schedulers, HalveASharedGraphThatFails) {
  Plan made = plan({"crowded"});
  for (Instance& instance : made.instances) {
    Case declared = *instance.declared;
    declared.share = true;
    instance.declared = std::make_shared<const Case>(std::move(declared));
  }
  share(made);
  std::vector<std::string> ids;
  FakeEngine engine(2, [&](const Job& job) {
    if (!is_of_path(job, "crowded")) return returned(job);
    ids.push_back(job.id);
    if (job.storages.size() == 1) return returned(job);
    Observation crashed;
    crashed.outcome = Outcome::crashed;
    return crashed;
  });
  const auto result = verdicts(made, engine, options(2));
  for (const std::string& line : result) EXPECT_TRUE(line.ends_with(" conform")) << line;
  EXPECT_EQ(ids,
            (std::vector<std::string>{"bugs/1[rows=1]@cpu/crowded (in a graph with 2 others)",
                                      "bugs/1[rows=1]@cpu/crowded",
                                      "bugs/1[rows=2]@cpu/crowded (in a graph with 1 others)",
                                      "bugs/1[rows=2]@cpu/crowded", "bugs/1[rows=3]@cpu/crowded"}));
}

// A compiler may do with a program alone what it does not with many in one graph.
TEST_F(Schedulers, WhatFailsOnADrawIsExecutedAlone) {
  Plan made = plan({"crowded"});
  made.paths[0].torchs_own = false;
  for (Instance& instance : made.instances) {
    Case declared = *instance.declared;
    declared.share = true;
    instance.declared = std::make_shared<const Case>(std::move(declared));
  }
  share(made);
  SchedulerOptions settings = options(2);
  settings.fresh_seed = 1;
  const auto executed = [&](bool differs_alone) {
    FakeEngine engine(2, [&](const Job& job) {
      const bool is_draw = !job.parts[0].message.contains("decoys");
      const bool differs = is_draw || (job.storages.size() == 1 && differs_alone);
      return returned(job, is_of_path(job, "crowded") && differs);
    });
    return run_plan(made, engine, settings);
  };
  for (const Verdict& verdict : executed(true)) {
    EXPECT_EQ(verdict.found.status, Status::value_diverges);
    EXPECT_EQ(verdict.origin.shared, 0U);
    EXPECT_EQ(verdict.found.draws, 0);
    EXPECT_EQ(verdict.found.reason.find("nobody had seen"), std::string::npos)
        << verdict.found.reason;
  }
  for (const Verdict& verdict : executed(false)) {
    EXPECT_EQ(verdict.found.status, Status::value_diverges);
    EXPECT_EQ(verdict.origin.shared, 0U);
    EXPECT_EQ(verdict.found.draws, 3);
    EXPECT_TRUE(verdict.found.reason.starts_with("on inputs that nobody had seen, 3 draws"))
        << verdict.found.reason;
  }
}

TEST_F(Schedulers, AHangInASharedGraphCostsOneQuickSearch) {
  const Plan made = shared_plan(64);
  std::vector<double> waited;
  FakeEngine engine(2, [&](const Job& job) {
    if (!is_of_path(job, "crowded")) return returned(job);
    const bool hangs =
        std::any_of(job.storages.begin(), job.storages.end(),
                    [](const StorageFile& each) { return each.bytes == 37 * 4 * 4; });
    if (!hangs && job.storages.size() == 1) return returned(job);
    if (hangs) waited.push_back(job.patience);
    Observation ended;
    ended.outcome = hangs ? Outcome::timed_out : Outcome::crashed;
    return ended;
  });
  const auto result = verdicts(made, engine, options(2));
  EXPECT_EQ(std::count(result.begin(), result.end(), "bugs/1[rows=37]@cpu/crowded timeout"), 1);
  EXPECT_EQ(std::count_if(result.begin(), result.end(),
                          [](const std::string& line) { return line.ends_with(" conform"); }),
            63);
  EXPECT_EQ(waited, (std::vector<double>{0.2, 0.2, 1})) << "of 64, of 8, and alone";
}

TEST_F(Schedulers, KeepOutOfAGraphWhatIsExpectedToFail) {
  const Plan made = shared_plan(4);
  std::vector<std::size_t> together;
  FakeEngine engine(2, [&](const Job& job) {
    if (is_of_path(job, "crowded")) together.push_back(job.storages.size());
    return returned(job);
  });
  SchedulerOptions alone = options(2);
  alone.stays_alone = [&](std::size_t item) {
    return made.items[item].id == "bugs/1[rows=3]@cpu/crowded";
  };
  EXPECT_EQ(verdicts(made, engine, std::move(alone)).size(), 4U);
  std::ranges::sort(together);
  EXPECT_EQ(together, (std::vector<std::size_t>{1, 3}));
}

TEST_F(Schedulers, GiveAPathThatPackagesTwoParts) {
  Plan packages = plan({"aoti"});
  packages.paths[0].packages = true;
  std::map<std::string, Job> jobs;
  FakeEngine engine(1, [&](const Job& job) {
    jobs[job.id] = job;
    return returned(job);
  });
  SchedulerOptions options;
  options.workplace.scratch = scratch_.path();
  options.workplace.eager = {"eager", {"lockstep-eager"}, {}};
  options.workplace.worker_of = [](const Path& path) {
    return WorkerSpec{path.name, {"python"}, {}};
  };
  Scheduler scheduler(packages, engine, options, std::vector<bool>(packages.items.size(), false));
  scheduler.on_verdict = [](const Verdict&) {};
  while (!scheduler.done()) {
    scheduler.advance();
    engine.step(0);
    while (scheduler.hear()) {
    }
  }
  const Job& job = jobs.at(packages.items.at(0).id);
  ASSERT_EQ(job.parts.size(), 2u);
  EXPECT_EQ(job.parts[0].worker.name, "aoti");
  EXPECT_EQ(job.parts[0].message["mode"], "plain");
  // The second part is C++: what executes a package has no Python in it.
  EXPECT_EQ(job.parts[1].worker.argv.front(), "lockstep-eager");
  EXPECT_EQ(job.parts[1].message["mode"], "package");
  EXPECT_EQ(job.parts[1].message["program"], job.parts[0].message["program"]);
  EXPECT_EQ(job.parts[1].message["calls"], job.parts[0].message["calls"]);
  EXPECT_EQ(jobs.at(packages.instances.at(0).id + "/eager").parts.size(), 1u);
}

}  // namespace
}  // namespace lockstep
