#include "run/dispatcher.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "base/splitmix.h"
#include "cases/suite.h"
#include "plan/case_facts.h"
#include "record/log.h"

namespace lockstep {
namespace {

constexpr const char* kCopy = R"({
  "format": 1, "title": "passes its input on",
  "matrix": {"rows": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]},
  "inputs": {"x": {"dtype": "float32", "shape": ["$rows", 4], "fill": {"arange": {"start": 1}}}},
  "steps": [{"let": "y", "op": "clone.default", "args": ["%x"]}],
  "outputs": ["y"]
})";

/// A dispatcher whose bridge is the test.
class Dispatchers : public testing::Test {
 protected:
  Dispatchers() {
    Diagnostics diagnostics;
    file_ = parse_case_file({"cases/bugs/1.json", kCopy, {}}, diagnostics);
    suite_ = {file_};
    PlanRequest request{&suite_, {}, {"cpu"}, {}, {}};
    for (const char* name : {"one", "two"}) {
      Path path;
      path.name = name;
      path.is_default = true;
      path.devices = {"*"};
      path.declared = {{"name", name}};
      request.paths.push_back(path);
    }
    plan_ = make_plan(request, diagnostics);
    EXPECT_TRUE(diagnostics.empty());
    // Three instances share a graph.
    for (std::size_t i = 0; i < plan_.instances.size(); ++i)
      plan_.instances[i].shared_graph = i / 3;
    info_.version = "0.1.0";
    info_.plan = plan_.digest;
    info_.planned = plan_.items.size();
    info_.digests = {{"cases", "c"}, {"judge", "j"}};
    begin();
  }

  void begin(std::vector<bool> skip = {}, const std::map<std::string, double>& seconds = {}) {
    skip.resize(plan_.items.size());
    dispatcher_ = std::make_unique<Dispatcher>(plan_, info_, environment_, "eager", skip, seconds);
    dispatcher_->send = [&](const Json& message) {
      if (message.contains("start")) started_.push_back(message["start"]);
      if (message.contains("drop")) dropped_.push_back(message["drop"]);
      for (const Json& range : message.value("items", Json::array())) {
        for (std::size_t i = range[0]; i < range[1].get<std::size_t>(); ++i)
          ordered_[message["order"]].push_back(i);
      }
    };
    dispatcher_->on_verdict = [&](const Verdict& verdict) {
      EXPECT_EQ(verdict.facts.id, plan_.items.at(verdict.facts.index).id);
      EXPECT_TRUE(verdicts_.emplace(verdict.facts.index, verdict).second)
          << verdict.facts.id << " came twice";
    };
    dispatcher_->on_note = [&](const std::string& note) { notes_.push_back(note); };
    dispatcher_->on_environment = [&](const std::string& name, const Json& values) {
      environment_[name] = values;
    };
  }

  void hear(const Json& message) {
    const auto heard = dispatcher_->hear(message);
    EXPECT_TRUE(heard) << heard.error().message;
  }
  void line(const std::string& name, const Json& record) {
    hear({{"of", name}, {"line", record.dump()}});
  }
  void join(const std::string& name, std::size_t jobs = 1) {
    hear({{"joined", name}, {"jobs", jobs}});
  }
  static Json environment_of(const std::string& name, const Json& values) {
    return {{"type", "environment"}, {"name", name}, {"values", values}};
  }
  /// What a member's log begins with.
  void introduce(const std::string& name) { introduce(name, info_, kEager, kMachine); }
  void introduce(const std::string& name, const RunInfo& info, const Json& eager,
                 const Json& machine) {
    line(name, to_json(info));
    line(name, environment_of("machine", machine));
    line(name, environment_of("eager", eager));
  }
  Json verdict_of(std::size_t item, double seconds = 1) const {
    Verdict verdict;
    verdict.facts = case_facts(plan_, item, "");
    verdict.found.status = Status::unsupported;
    verdict.found.unsupported_by = UnsupportedBy::case_;
    verdict.origin.seconds = seconds;
    Json record = {{"type", "verdict"}};
    record.update(to_json(verdict));
    return record;
  }
  /// A member judges the first of what it was given.
  void judge(const std::string& name, double seconds = 1) {
    std::deque<std::size_t>& items = ordered_[name];
    const std::size_t item = items.front();
    items.pop_front();
    line(name, verdict_of(item, seconds));
  }
  void judge_all(const std::string& name) {
    while (!ordered_[name].empty()) judge(name);
  }

  const Json kEager = {{"torch", "2.13.0"}, {"cpu_capability", "AVX2"}, {"operators_digest", "f"}};
  const Json kMachine = {{"host", "h"}, {"cpu", "c"}, {"cpu_features", "avx avx2"}};
  CaseFile file_;
  std::vector<CaseFile> suite_;
  Plan plan_;
  RunInfo info_;
  Json environment_ = {{"eager", kEager}, {"machine", kMachine}};
  std::unique_ptr<Dispatcher> dispatcher_;
  std::vector<std::string> started_, dropped_, notes_;
  std::map<std::string, std::deque<std::size_t>> ordered_;  ///< and not judged
  std::map<std::size_t, Verdict> verdicts_;
};

TEST_F(Dispatchers, GiveMembersAllOfThePlanOnceTheyAreKnown) {
  join("a", 2);
  join("b");
  EXPECT_EQ(started_, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(dispatcher_->starting().size(), 2U);
  introduce("a");
  EXPECT_FALSE(ordered_["a"].empty());
  EXPECT_TRUE(ordered_["b"].empty()) << "nobody knows what it has";
  introduce("b");
  EXPECT_FALSE(ordered_["b"].empty()) << "the first one has taken more than its share";
  EXPECT_EQ(dispatcher_->running().size(), 2U);
  while (!dispatcher_->done()) {
    judge_all("a");
    judge_all("b");
  }
  EXPECT_EQ(verdicts_.size(), plan_.items.size());
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(environment_["cluster"]["a"], "h, c, 2 at a time");
}

TEST_F(Dispatchers, LeaveOutWhatNeedsNoVerdict) {
  std::vector<bool> skip(plan_.items.size(), true);
  skip[4] = skip[17] = false;
  begin(skip);
  join("a");
  introduce("a");
  EXPECT_EQ(ordered_["a"], (std::deque<std::size_t>{4, 17}));
  judge_all("a");
  EXPECT_TRUE(dispatcher_->done());
}

TEST_F(Dispatchers, RefuseMembersThatAreNotAlike) {
  const auto refused = [&](const char* name, const auto& change) {
    RunInfo info = info_;
    Json eager = kEager, machine = kMachine;
    change(info, eager, machine);
    join(name);
    introduce(name, info, eager, machine);
    EXPECT_TRUE(ordered_[name].empty()) << name;
    EXPECT_EQ(dropped_.back(), name);
    return notes_.back();
  };
  EXPECT_EQ(refused("a", [](RunInfo&, Json& eager, Json&) { eager["torch"] = "2.15.0"; }),
            R"(a is left out: it has torch "2.15.0", this machine "2.13.0")");
  EXPECT_EQ(refused("b", [](RunInfo&, Json& eager, Json&) { eager["cpu_capability"] = "AVX512"; }),
            R"(b is left out: it has cpu_capability "AVX512", this machine "AVX2")");
  EXPECT_EQ(refused("c", [](RunInfo&, Json&, Json& machine) { machine["cpu_features"] = "avx"; }),
            R"(c is left out: its CPU has the features "avx", this one "avx avx2")");
  EXPECT_EQ(refused("d", [](RunInfo& info, Json&, Json&) { info.digests["judge"] = "other"; }),
            "d is left out: it has other judge");
  EXPECT_EQ(refused("e", [](RunInfo& info, Json&, Json&) { info.version = "9.9"; }),
            "e is left out: it is Lockstep 9.9, this one is 0.1.0");
  EXPECT_NE(refused("f", [](RunInfo& info, Json&, Json&) { info.plan = "p"; }).find("another plan"),
            std::string::npos);
  EXPECT_NE(dispatcher_->unusable().find("a: it has torch"), std::string::npos);
  EXPECT_NE(dispatcher_->report().find("left out: d: it has other judge"), std::string::npos);
  join("good");
  EXPECT_EQ(dispatcher_->unusable(), "") << "one may be usable";
  introduce("good");
  judge_all("good");
  EXPECT_TRUE(dispatcher_->done());
}

TEST_F(Dispatchers, RefuseWorkersThatDifferFromThoseOfOtherMembers) {
  join("a");
  introduce("a");
  line("a", environment_of("compiled", {{"torch", "2.13.0"}, {"torch_git", "1"}}));
  EXPECT_EQ(environment_["compiled"]["torch_git"], "1");
  join("b");
  introduce("b");
  const std::size_t given = ordered_["a"].size() + ordered_["b"].size();
  EXPECT_GT(given, 0U);
  line("b", environment_of("compiled", {{"torch", "2.13.0"}, {"torch_git", "2"}}));
  EXPECT_EQ(notes_.back(),
            R"(b is left out: its compiled worker has torch_git "2", another one "1")");
  ordered_["b"].clear();
  judge_all("a");
  EXPECT_TRUE(dispatcher_->done()) << "what it had goes to others, and is not lost";
}

TEST_F(Dispatchers, RefuseMembersThatSayWhatCannotBe) {
  const auto refused = [&](const std::string& name, const std::string& said) {
    join(name);
    introduce(name);
    EXPECT_FALSE(ordered_[name].empty());
    hear({{"of", name}, {"line", said}});
    EXPECT_EQ(dropped_.back(), name);
    ordered_[name].clear();
    return notes_.back();
  };
  EXPECT_NE(refused("a", "no record").find("no record of a log"), std::string::npos);
  EXPECT_NE(refused("b", R"({"type": "verdict", "id": 3})").find("its verdict says"),
            std::string::npos);
  Json other = verdict_of(0);
  other["id"] = "bugs/2@cpu/one";
  EXPECT_NE(refused("c", other.dump()).find("what it was not given: bugs/2@cpu/one"),
            std::string::npos);
  Json far = verdict_of(0);
  far["index"] = 1000000;
  EXPECT_NE(refused("d", far.dump()).find("what it was not given"), std::string::npos);
  EXPECT_NE(refused("e", to_json(info_).dump()).find("a second run"), std::string::npos);
  Json contradicts = verdict_of(0);
  contradicts["status"] = "conform";
  EXPECT_NE(refused("f", contradicts.dump()).find("its verdict says"), std::string::npos);
  EXPECT_TRUE(verdicts_.empty());
}

TEST_F(Dispatchers, ExecuteElsewhereWhatIsLostAndAlone) {
  join("a");
  introduce("a");
  judge("a");
  const std::deque<std::size_t> had = ordered_["a"];
  ASSERT_EQ(had.size(), 5U);
  hear({{"of", "a"}, {"gone", true}, {"why", "it left the cluster"}});
  ordered_["a"].clear();
  EXPECT_NE(notes_.back().find("a is lost (it left the cluster)"), std::string::npos);
  join("b");
  introduce("b");
  // One graph, and nothing beside it.
  EXPECT_EQ(ordered_["b"].size(), 5U) << "the other five of the graph whose first one is judged";
  judge_all("b");
  EXPECT_TRUE(dispatcher_->done());
  EXPECT_EQ(verdicts_.size(), plan_.items.size());
  for (const auto& [index, verdict] : verdicts_)
    EXPECT_EQ(verdict.found.status, Status::unsupported);
}

TEST_F(Dispatchers, ReportWhatIsLostTwice) {
  join("a");
  introduce("a");
  const std::size_t guilty = ordered_["a"].front();
  const std::size_t graph = plan_.instances[plan_.items[guilty].instance].shared_graph;
  hear({{"of", "a"}, {"gone", true}, {"why", "it left the cluster"}});
  ordered_["a"].clear();
  join("b");
  introduce("b");
  EXPECT_EQ(ordered_["b"].front(), guilty);
  hear({{"of", "b"}, {"ended", true}, {"why", "its Lockstep ended with -9:"}});
  ordered_["b"].clear();
  EXPECT_EQ(verdicts_.size(), 6U);
  for (const auto& [index, verdict] : verdicts_) {
    EXPECT_EQ(plan_.instances[plan_.items[index].instance].shared_graph, graph);
    EXPECT_EQ(verdict.found.status, Status::worker_lost);
    EXPECT_EQ(verdict.facts.title, "passes its input on");
    EXPECT_EQ(verdict.found.reason,
              "lost twice with the machine that executed it: a (it left the cluster), then b (its "
              "Lockstep ended with -9:)");
    EXPECT_TRUE(verdict_from_json(to_json(verdict)));
  }
  EXPECT_EQ(started_.back(), "b") << "its Lockstep is started again";
  introduce("b");
  judge_all("b");
  EXPECT_TRUE(dispatcher_->done());
  EXPECT_EQ(verdicts_.size(), plan_.items.size());
}

TEST_F(Dispatchers, GiveUpMembersThatEndAgainAndAgain) {
  join("a");
  hear({{"of", "a"}, {"ended", true}, {"why", "no such file"}});
  EXPECT_EQ(notes_.back(), "a is left out: no such file") << "it has never begun";
  join("b");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(dispatcher_->unusable(), "");
    introduce("b");
    hear({{"of", "b"}, {"ended", true}, {"why", "it ended"}});
  }
  EXPECT_EQ(notes_.back(), "b is left out: it ended 3 times in a row: it ended");
  EXPECT_NE(dispatcher_->unusable(), "");
  const auto failed = dispatcher_->hear({{"failed", "no scheduler"}, {"hint", "start one"}});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "the cluster cannot be used: no scheduler");
}

// Sixty-four machines, which take what the log of an earlier run says, or a third more or less: all
// end at about the same time, whatever takes long among what is short.
TEST_F(Dispatchers, EndAtAboutTheSameTimeOnAllMachines) {
  constexpr std::size_t kMachines = 64;
  const std::shared_ptr<const Case> declared = plan_.instances[0].declared;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::uint64_t random = seed;
    plan_.instances.clear();
    plan_.items.clear();
    std::map<std::string, double> seconds;
    std::vector<double> took;
    double all = 0, longest = 0, graph = 0;
    for (std::size_t i = 0; i < 4000; ++i) {
      const bool same = i > 0 && splitmix64(random) % 3 == 0;
      const std::size_t number = i == 0 ? 0 : plan_.instances.back().shared_graph + (same ? 0 : 1);
      plan_.instances.push_back({fmt::format("case/{}@cpu", i), "cpu", declared, 1, number});
      plan_.items.push_back({i, 0, plan_.instances[i].id + "/one", {}, i});
      const double uniform = static_cast<double>(splitmix64(random) % 1000 + 1) / 1000;
      const double expected = 0.3 / uniform;
      seconds[plan_.items[i].id] = expected;
      took.push_back(expected * (0.67 + static_cast<double>(splitmix64(random) % 660) / 1000));
      graph = same ? graph + took[i] : took[i];
      longest = std::max(longest, graph);
      all += took[i];
    }
    info_.plan = "p";
    verdicts_.clear();
    ordered_.clear();
    begin({}, seconds);
    for (std::size_t i = 0; i < kMachines; ++i) join(fmt::format("m{}", i));
    for (std::size_t i = 0; i < kMachines; ++i) introduce(fmt::format("m{}", i));
    std::map<std::string, double> now;  // of each machine: when it began what it is at
    while (!dispatcher_->done()) {
      const std::string* next = nullptr;
      double ready = 0;
      for (const auto& [name, items] : ordered_) {
        if (items.empty()) continue;
        const double then = now[name] + took[items.front()];
        if (next == nullptr || then < ready) {
          next = &name;
          ready = then;
        }
      }
      ASSERT_NE(next, nullptr);
      now[*next] = ready;
      for (auto& [name, items] : ordered_) {
        if (items.empty()) now[name] = std::max(now[name], ready);  // it waits
      }
      judge(*next, took[ordered_[*next].front()]);
    }
    double last = 0;
    for (const auto& [name, time] : now) last = std::max(last, time);
    const double ideal = std::max(all / kMachines, longest);
    EXPECT_LT(last, 1.1 * ideal) << seed << ": " << all << " s, of which a graph took " << longest;
  }
}

// Whatever joins, leaves, ends, is refused and says late what it judged: every item gets one
// verdict, and `worker_lost` only what was lost twice.
TEST_F(Dispatchers, GiveEveryItemOneVerdictWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::uint64_t random = seed;
    verdicts_.clear();
    ordered_.clear();
    begin();
    std::map<std::size_t, int> losses;
    std::set<std::string> there;
    int number = 0;
    const auto lose = [&](const std::string& name) {
      for (const std::size_t item : ordered_[name]) ++losses[item];
    };
    for (int round = 0; !dispatcher_->done(); ++round) {
      ASSERT_LT(round, 20000) << seed;
      if (there.size() < 3) {
        const std::string name = fmt::format("m{}", number++);
        join(name, 1 + splitmix64(random) % 3);
        introduce(name);
        there.insert(name);
      }
      auto chosen = there.begin();
      std::advance(chosen, splitmix64(random) % there.size());
      const std::string name = *chosen;
      const std::uint64_t what = splitmix64(random) % 40;
      if (what == 0) {
        lose(name);
        there.erase(name);
        hear({{"of", name}, {"gone", true}, {"why", "left"}});
        if (!ordered_[name].empty()) judge(name);  // late
        ordered_[name].clear();
      } else if (what == 1) {
        lose(name);
        ordered_[name].clear();
        hear({{"of", name}, {"ended", true}, {"why", "ended"}});
        if (dropped_.empty() || dropped_.back() != name) {
          introduce(name);
        } else {
          there.erase(name);
        }
      } else if (what == 2) {
        ordered_[name].clear();
        there.erase(name);
        hear({{"of", name}, {"line", "nonsense"}});
      } else if (!ordered_[name].empty()) {
        judge(name);
      }
    }
    ASSERT_EQ(verdicts_.size(), plan_.items.size()) << seed;
    for (const auto& [index, verdict] : verdicts_) {
      if (verdict.found.status == Status::worker_lost) {
        EXPECT_EQ(losses[index], 2) << seed << " " << verdict.facts.id;
      } else {
        EXPECT_LT(losses[index], 2) << seed << " " << verdict.facts.id;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
