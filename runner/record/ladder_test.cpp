#include "record/ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A run of paths, given with what each stands on, and of verdicts.
struct Layers {
  RunRecord record;

  explicit Layers(const std::vector<std::pair<std::string, std::string>>& paths) {
    for (const auto& [name, above] : paths) {
      PathInfo path{name, "", ""};
      path.declared = {{"name", name}};
      path.declared["above"] =
          above.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(above);
      record.info.paths.push_back(path);
    }
    record.verdicts.reserve(100);
  }
  const Verdict& add(const std::string& instance, const std::string& path, Status status) {
    Verdict& verdict = record.verdicts.emplace_back();
    verdict.facts.instance = instance;
    verdict.facts.path = path;
    verdict.facts.id = instance + "/" + path;
    verdict.found.status = status;
    return verdict;
  }
};

const std::vector<std::pair<std::string, std::string>> kTorch = {
    {"aot_eager", "eager"},    {"eager", "eager-python"},        {"eager-python", ""},
    {"inductor", "aot_eager"}, {"inductor-dynamic", "inductor"}, {"mine", "eager"}};

TEST(Ladders, StandInTheOrderOfWhatIsBelowThem) {
  const Layers run(kTorch);
  const Ladder ladder(run.record);
  EXPECT_THAT(ladder.layers(), ElementsAre("eager-python", "eager", "aot_eager", "mine", "inductor",
                                           "inductor-dynamic"));
  EXPECT_THAT(ladder.down_from("mine"), ElementsAre("eager-python", "eager", "mine"));
  EXPECT_THAT(ladder.diverging(), IsEmpty());
}

TEST(Ladders, ARunWithoutTwoLayersHasNone) {
  const Layers run({{"inductor", "aot_eager"}, {"mine", "eager"}});
  EXPECT_THAT(Ladder(run.record).layers(), IsEmpty());
  EXPECT_THAT(Ladder(run.record).down_from("inductor"), ElementsAre("aot_eager", "inductor"));
}

TEST(Ladders, ALogThatLeadsInACircleIsRead) {
  const Layers run({{"a", "b"}, {"b", "a"}});
  EXPECT_THAT(Ladder(run.record).down_from("a"), ElementsAre("b", "a"));
}

TEST(Ladders, TheFirstLayerThatDivergesIsTheLowestOnTheWayDown) {
  Layers run(kTorch);
  run.add("1", "eager-python", Status::conform);
  run.add("1", "eager", Status::conform);
  const Verdict& first = run.add("1", "aot_eager", Status::value_diverges);
  const Verdict& further = run.add("1", "inductor", Status::value_diverges);
  // A vendor's path stands beside them, and what it does is its own.
  const Verdict& own = run.add("1", "mine", Status::metadata_diverges);
  const Verdict& fine = run.add("2", "eager", Status::conform);
  const Ladder ladder(run.record);
  EXPECT_EQ(ladder.divergence(first), Divergence::first);
  EXPECT_EQ(ladder.divergence(further), Divergence::further);
  EXPECT_EQ(ladder.first_diverging(further), "aot_eager");
  EXPECT_EQ(ladder.divergence(own), Divergence::first);
  EXPECT_EQ(ladder.divergence(fine), Divergence::none);
  EXPECT_THAT(ladder.diverging(), ElementsAre("1"));
  EXPECT_EQ(ladder.at("1", "inductor"), &further);
  EXPECT_EQ(ladder.at("2", "inductor"), nullptr);
}

// A path that was not run, or not judged, may be where it begins.
TEST(Ladders, SayWhatIsNotKnown) {
  Layers run(kTorch);
  run.add("1", "eager", Status::conform);
  run.add("1", "aot_eager", Status::unsupported);
  const Verdict& verdict = run.add("1", "inductor", Status::value_diverges);
  const Ladder ladder(run.record);
  EXPECT_EQ(ladder.divergence(verdict), Divergence::first);
  EXPECT_THAT(ladder.unknown_below(verdict), ElementsAre("eager-python", "aot_eager"));
}

TEST(Ladders, AModeThatChangesNoCodeIsSeen) {
  Layers run(kTorch);
  const auto with_code = [&](const std::string& path, const nlohmann::ordered_json& proof) {
    const Verdict& verdict = run.add("1", path, Status::conform);
    run.record.verdicts.back().found.proof = proof;
    return &verdict;
  };
  const Verdict* python = with_code("eager-python", {{"code", ""}});
  const Verdict* dynamo = with_code("eager", {{"code", ""}});
  const Verdict* inductor = with_code("inductor", {{"code", "0123"}});
  const Verdict* dynamic = with_code("inductor-dynamic", {{"code", "0123"}});
  const Ladder ladder(run.record);
  EXPECT_FALSE(ladder.same_code(*python));
  EXPECT_FALSE(ladder.same_code(*dynamo));  // there is none
  EXPECT_FALSE(ladder.same_code(*inductor));
  EXPECT_TRUE(ladder.same_code(*dynamic));
  run.record.verdicts.back().found.proof["code"] = "4567";
  EXPECT_FALSE(ladder.same_code(*dynamic));
}

// Nothing is said of the compiler where nobody judged it.
TEST(Ladders, WhatWasNotJudgedDoesNotDiverge) {
  for (const Status status : {Status::unsupported, Status::refused, Status::inconclusive,
                              Status::worker_lost, Status::extension, Status::conform})
    EXPECT_FALSE(info(status).diverges()) << info(status).name;
  for (const Status status : {Status::value_diverges, Status::crash, Status::error_diverges})
    EXPECT_TRUE(info(status).diverges()) << info(status).name;
}

}  // namespace
}  // namespace lockstep
