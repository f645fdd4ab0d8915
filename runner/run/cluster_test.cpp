#include "run/cluster.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/files.h"
#include "base/splitmix.h"
#include "cases/suite.h"
#include "engine/scratch.h"
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

/// A cluster whose bridge is the test, or a few words of a shell.
class Clusters : public testing::Test {
 protected:
  Clusters() : scratch_(std::move(*Scratch::create())) {
    Diagnostics diagnostics;
    suite_ = {parse_case_file({"cases/bugs/1.json", kCopy, {}}, diagnostics)};
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
    for (std::size_t i = 0; i < plan_.instances.size(); ++i)
      plan_.instances[i].shared_graph = i / 3;  // with six verdicts
    begin();
  }

  void begin(std::vector<bool> skip = {}) {
    skip.resize(plan_.items.size());
    DriverHooks hooks;
    hooks.on_verdict = [&](const Verdict& verdict) {
      EXPECT_EQ(verdict.facts.id, plan_.items.at(verdict.facts.index).id);
      EXPECT_TRUE(verdicts_.emplace(verdict.facts.index, verdict).second)
          << verdict.facts.id << " came twice";
    };
    hooks.on_note = [&](const std::string& note) { notes_.push_back(note); };
    hooks.on_environment = [&](const std::string& name, const Json& values) {
      environment_[name] = values;
    };
    hooks.stopped = [] { return false; };
    cluster_ = std::make_unique<Cluster>(plan_, environment_, skip, std::map<std::string, double>{},
                                         hooks);
    verdicts_.clear();
    read_ = 0;
    told();
  }

  /// Takes what the cluster is told since the last time.
  std::vector<Json> told() {
    std::vector<Json> messages;
    const std::string& text = cluster_->outgoing();
    for (std::size_t end; (end = text.find('\n', read_)) != std::string::npos; read_ = end + 1) {
      messages.push_back(Json::parse(text.substr(read_, end - read_)));
      if (messages.back().contains("chunk")) orders_[messages.back()["chunk"]] = messages.back();
    }
    return messages;
  }
  void hear(const Json& message) {
    const auto heard = cluster_->hear(message);
    EXPECT_TRUE(heard) << heard.error().message;
  }
  Json verdict_of(std::size_t item) const {
    Verdict verdict;
    verdict.facts = case_facts(plan_, item, "");
    verdict.found.status = Status::unsupported;
    verdict.found.unsupported_by = UnsupportedBy::case_;
    Json record = {{"type", "verdict"}};
    record.update(to_json(verdict));
    return record;
  }
  static std::string environment_of(const std::string& name, const Json& values) {
    return Json{{"type", "environment"}, {"name", name}, {"values", values}}.dump();
  }
  /// A machine has executed the first chunk that there is; `more` are lines before the verdicts.
  void judge(const std::string& machine, std::vector<std::string> more = {}) {
    const Json order = orders_.begin()->second;
    orders_.erase(orders_.begin());
    for (const std::size_t place : order["places"]) more.push_back(verdict_of(place).dump());
    hear({{"chunk", order["chunk"]}, {"of", machine}, {"lines", more}});
  }
  void judge_all(const std::string& machine) {
    for (told(); !orders_.empty(); told()) judge(machine);
    EXPECT_TRUE(cluster_->done());
    EXPECT_EQ(verdicts_.size(), plan_.items.size());
  }
  void lose(const std::string& machine, const std::string& why) {
    hear({{"chunk", orders_.begin()->first}, {"of", machine}, {"lost", why}});
    orders_.erase(orders_.begin());
  }

  /// What ends a cluster whose bridge is this.
  Error ended_by(const std::string& script, int steps = 200) {
    ClusterOptions options;
    options.bridge = {"sh", "-c", script};
    options.begin = {{"on", "it"}};
    if (auto connected = cluster_->connect(options, scratch_.path() / "log"); !connected)
      return connected.error();
    for (int i = 0; i < steps; ++i) {
      if (auto stepped = cluster_->step(); !stepped) return stepped.error();
    }
    return {"it never ended", ""};
  }

  Scratch scratch_;
  std::vector<CaseFile> suite_;
  Plan plan_;
  Json environment_ = {{"eager", {{"torch", "2.13.0"}}}};
  std::unique_ptr<Cluster> cluster_;
  std::vector<std::string> notes_;
  std::map<std::size_t, Json> orders_;  ///< and not judged
  std::map<std::size_t, Verdict> verdicts_;
  std::size_t read_ = 0;
};

TEST_F(Clusters, ExecuteWholeGraphsOfWhatNeedsAVerdict) {
  EXPECT_EQ(orders_[0]["places"], Json::parse("[0, 1, 2, 3, 4, 5]"));
  judge("a", {environment_of("machine", {{"host", "h"}, {"cpu", "c"}})});
  EXPECT_EQ(environment_["cluster"]["a"], "h, c");
  judge_all("b");
  EXPECT_TRUE(notes_.empty());
  orders_.clear();
  std::vector<bool> skip(plan_.items.size(), true);
  skip[4] = skip[17] = false;
  begin(skip);
  EXPECT_EQ(orders_[1]["places"], Json::parse("[17]"));
  judge("a");
  judge("a");
  EXPECT_TRUE(cluster_->done());
}

TEST_F(Clusters, LeaveOutMachinesThatSayWhatCannotBe) {
  const auto refused = [&](const std::string& name, const std::string& said) {
    const std::size_t before = orders_.size();
    judge(name, {said});
    const auto messages = told();
    EXPECT_EQ(messages.at(0)["leave_out"], name);
    EXPECT_EQ(orders_.size(), before) << "others get the chunk";
    return messages.at(0)["why"].get<std::string>();
  };
  EXPECT_NE(refused("a", "no record").find("no record of a log"), std::string::npos);
  EXPECT_NE(refused("b", R"({"type": "verdict", "id": 3})").find("its verdict says"),
            std::string::npos);
  Json other = verdict_of(0);
  other["id"] = "bugs/2@cpu/one";
  EXPECT_EQ(refused("c", other.dump()), "it judged what it was not given: bugs/2@cpu/one");
  Json far = verdict_of(0);
  far["index"] = 1000000;
  EXPECT_NE(refused("d", far.dump()).find("what it was not given"), std::string::npos);
  Json contradicts = verdict_of(0);
  contradicts["status"] = "conform";
  EXPECT_NE(refused("e", contradicts.dump()).find("its verdict says"), std::string::npos);
  EXPECT_EQ(refused("f", environment_of("eager", {{"torch", "2.15.0"}})),
            R"(its eager worker has torch "2.15.0", another one "2.13.0")");
  EXPECT_TRUE(verdicts_.empty());
  judge("f");
  EXPECT_TRUE(verdicts_.empty()) << "what was under way there counts no more";
  judge("good", {environment_of("compiled", {{"torch_git", "1"}})});
  EXPECT_EQ(environment_["compiled"]["torch_git"], "1");
  told();
  EXPECT_EQ(refused("g", environment_of("compiled", {{"torch_git", "2"}})),
            R"(its compiled worker has torch_git "2", another one "1")");
  const auto order = orders_.begin()->first;
  hear({{"chunk", order}, {"of", "h"}, {"lines", Json::array()}});
  EXPECT_EQ(told().at(0)["why"], "it leaves out verdicts");
  orders_.erase(order);
  judge_all("good");
}

TEST_F(Clusters, ExecuteAloneWhatIsLostAndReportWhatIsLostTwice) {
  lose("a", "it left the cluster");
  EXPECT_EQ(notes_, std::vector<std::string>{"a (it left the cluster) is lost"});
  const auto again = told();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0]["alone"], true);
  EXPECT_EQ(again[0]["places"], Json::parse("[0, 1, 2, 3, 4, 5]"));
  while (orders_.size() > 1) judge("b");
  lose("b", "its Lockstep ended with -9:");
  EXPECT_TRUE(cluster_->done());
  for (const auto& [index, verdict] : verdicts_) {
    EXPECT_EQ(verdict.found.status, index < 6 ? Status::worker_lost : Status::unsupported);
    if (index >= 6) continue;
    EXPECT_EQ(verdict.facts.title, "passes its input on");
    EXPECT_EQ(verdict.found.reason,
              "lost twice with the machine that executed it: a (it left the cluster), then b (its "
              "Lockstep ended with -9:)");
    EXPECT_TRUE(verdict_from_json(to_json(verdict)));
  }
}

// Whatever is lost, refused and said twice: every item gets one verdict, and `worker_lost` only
// what was lost twice.
TEST_F(Clusters, GiveEveryItemOneVerdictWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::uint64_t random = seed;
    begin();
    std::map<std::size_t, int> losses;
    for (int round = 0; !cluster_->done(); ++round, told()) {
      ASSERT_LT(round, 1000) << seed;
      const std::string name = fmt::format("m{}", splitmix64(random) % 1000);
      const std::uint64_t what = splitmix64(random) % 8;
      const Json first = orders_.begin()->second;
      if (what < 2) {
        for (const std::size_t place : first["places"]) ++losses[place];
        lose(name, "left");
      } else {
        judge(name, what == 2 ? std::vector<std::string>{"nonsense"} : std::vector<std::string>{});
        hear({{"chunk", first["chunk"]}, {"of", name}, {"lost", "late"}});
      }
    }
    ASSERT_EQ(verdicts_.size(), plan_.items.size()) << seed;
    for (const auto& [index, verdict] : verdicts_)
      EXPECT_EQ(verdict.found.status == Status::worker_lost, losses[index] == 2) << seed;
  }
}

TEST_F(Clusters, TellTheBridgeHowToBeginAndWhatToExecute) {
  const Error error = ended_by(R"(
    read begin; echo "$begin" >&2; read order; echo "$order" >&2
    echo '{"note": "begun"}'; echo '{"failed": "no scheduler", "hint": "start one"}'; cat >/dev/null)");
  EXPECT_EQ(error.message, "the cluster cannot be used: no scheduler");
  EXPECT_EQ(error.hint, "start one");
  EXPECT_EQ(notes_, std::vector<std::string>{"begun"});
  EXPECT_EQ(
      *read_file(scratch_.path() / "log"),
      "{\"on\":\"it\"}\n{\"chunk\":0,\"places\":[0,1,2,3,4,5],\"seconds\":6.0,\"alone\":false}\n");
}

TEST_F(Clusters, SayHowTheBridgeEnded) {
  const Error error = ended_by("echo 'no module named distributed' >&2; exit 3");
  EXPECT_NE(error.message.find("exited with 3"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("no module named distributed"), std::string::npos);
  EXPECT_NE(error.hint.find("--resume"), std::string::npos);
  begin();
  EXPECT_NE(ended_by("exec /no/such/program").message.find("exited with 127"), std::string::npos);
  begin();
  EXPECT_EQ(ended_by("echo hello; cat >/dev/null").message,
            "the bridge to the cluster breaks off: found `hello`, which is no message");
}

}  // namespace
}  // namespace lockstep
