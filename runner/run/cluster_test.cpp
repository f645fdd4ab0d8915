#include "run/cluster.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "engine/scratch.h"

namespace lockstep {
namespace {

/// Clusters whose bridge is a few words of a shell.
class Clusters : public testing::Test {
 protected:
  Clusters() : scratch_(std::move(*Scratch::create())) {
    plan_.paths.resize(1);
    plan_.instances.push_back({"case", "cpu", nullptr, 1, 0});
    plan_.items.push_back({0, 0, "case/a", {}, 0});
    dispatcher_.on_note = [this](const std::string& note) { notes_.push_back(note); };
  }

  /// What ends it.
  Error ended_by(const std::string& script, double patience = 0, int steps = 200) {
    ClusterOptions options;
    options.bridge = {"sh", "-c", script};
    options.begin = {{"on", "it"}};
    options.patience = patience;
    auto cluster = Cluster::connect(options, scratch_.path() / "log", dispatcher_);
    if (!cluster) return cluster.error();
    for (int i = 0; i < steps; ++i) {
      if (auto stepped = cluster->step(0.1); !stepped) return stepped.error();
    }
    return {"it never ended", ""};
  }

  Scratch scratch_;
  Plan plan_;
  RunInfo info_;
  Json environment_ = Json::object();
  Dispatcher dispatcher_{plan_, info_, environment_, "eager", {false}, {}};
  std::vector<std::string> notes_;
};

TEST_F(Clusters, TellTheBridgeHowToBeginAndWhatToStart) {
  const Error error = ended_by(R"(
    read begin; echo "{\"note\": \"begun\"}"; echo "$begin" >&2
    echo '{"joined": "w", "jobs": 1}'; read start; echo "$start" >&2
    echo '{"of": "w", "ended": true, "why": "no Lockstep"}'; read drop; echo "$drop" >&2; cat >/dev/null)",
                               0.5);
  EXPECT_EQ(error.message, "no machine of the cluster can be used");
  EXPECT_EQ(error.hint, "w: no Lockstep");
  EXPECT_EQ(notes_, (std::vector<std::string>{"begun", "w is left out: no Lockstep"}));
  EXPECT_EQ(*read_file(scratch_.path() / "log"),
            "{\"on\":\"it\"}\n{\"start\":\"w\"}\n{\"drop\":\"w\"}\n");
}

TEST_F(Clusters, HoldNoLineThatIsTooLong) {
  const Error error = ended_by("read begin; exec cat /dev/zero", 600, 100'000);
  EXPECT_EQ(
      error.message,
      "the bridge to the cluster says more than 67,108,864 bytes in one line, the most that a "
      "message may have");
}

TEST_F(Clusters, SayHowTheBridgeEnded) {
  const Error error = ended_by("echo 'no module named distributed' >&2; exit 3");
  EXPECT_NE(error.message.find("exited with 3"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("no module named distributed"), std::string::npos);
  EXPECT_NE(error.hint.find("--resume"), std::string::npos);
}

TEST_F(Clusters, SayWhatIsNoMessage) {
  EXPECT_EQ(ended_by("echo hello; cat >/dev/null").message,
            "the bridge to the cluster says `hello`, which is no message");
  EXPECT_EQ(ended_by(R"(echo '{"failed": "no scheduler"}'; cat >/dev/null)").message,
            "the cluster cannot be used: no scheduler");
  EXPECT_NE(ended_by("exec /no/such/program").message.find("exited with 127"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
