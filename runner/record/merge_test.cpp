#include "record/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/splitmix.h"
#include "plan/plan.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RunRecord whole_run(std::size_t count) {
  RunRecord run;
  run.info.version = "0.1.0";
  run.info.started = "2026-11-21T10:00:00Z";
  run.info.arguments = {"run", "bugs/*"};
  run.info.level = "smoke";
  run.info.digests = {{"cases", "abc"}, {"judge", "012"}};
  run.info.devices = {"cpu"};
  run.info.paths = {{"inductor", "Inductor", "values", "345", {{"backend", "inductor"}}}};
  run.environment = {{"eager", {{"torch", "2.15.0"}, {"pid", 1}}}, {"machine", {{"host", "a"}}}};
  std::vector<std::string_view> ids;
  for (std::size_t i = 0; i < count; ++i) {
    Verdict& verdict = run.verdicts.emplace_back();
    verdict.facts.id = "bugs/" + std::to_string(i) + "@cpu/inductor";
    verdict.facts.index = i;
    verdict.found.status = i % 3 == 0 ? Status::value_diverges : Status::conform;
    verdict.origin.seconds = 0.5;
  }
  for (const Verdict& verdict : run.verdicts) ids.push_back(verdict.facts.id);
  run.info.plan = digest_of(ids);
  run.info.planned = count;
  run.end = RunEnd{3, false, {{"expected/known/a.json:3", "x"}}};
  return run;
}

/// Deals the verdicts of a run out to so many shards.
std::vector<RunRecord> deal(const RunRecord& run, std::size_t of, std::uint64_t seed) {
  std::vector<RunRecord> shards(of, run);
  for (std::size_t i = 0; i < of; ++i) {
    shards[i].verdicts.clear();
    shards[i].info.shard = ShardInfo{i + 1, of, run.info.plan, run.info.planned};
    shards[i].info.arguments.insert(
        shards[i].info.arguments.end(),
        {"--shard", std::to_string(i + 1) + "/" + std::to_string(of), "--out=shard"});
    shards[i].directory = "s" + std::to_string(i + 1);
    shards[i].environment["machine"]["host"] = i == 0 ? "a" : "b";  // they may be of many machines
    shards[i].end->unmatched.push_back({"expected/known/a.json:" + std::to_string(100 + i), "y"});
  }
  for (const Verdict& verdict : run.verdicts)
    shards[splitmix64(seed) % of].verdicts.push_back(verdict);
  for (RunRecord& shard : shards) {
    std::vector<std::string_view> ids;
    for (const Verdict& verdict : shard.verdicts) ids.push_back(verdict.facts.id);
    shard.info.plan = digest_of(ids);
    shard.info.planned = shard.verdicts.size();
  }
  return shards;
}

/// What was found wrong, line by line.
std::vector<std::string> errors(std::vector<RunRecord> shards) {
  std::vector<std::string> lines;
  if (const auto merged = merge(std::move(shards)); !merged) {
    for (const Error& error : merged.error()) lines.push_back(error.message);
  }
  return lines;
}

TEST(Merge, AnyShardsInAnyOrderMakeTheRun) {
  std::uint64_t seed = 5;
  for (int round = 0; round < 200; ++round) {
    const RunRecord run = whole_run(splitmix64(seed) % 40);
    std::vector<RunRecord> shards = deal(run, 1 + splitmix64(seed) % 8, splitmix64(seed));
    const std::size_t count = shards.size();
    for (std::size_t i = count; i > 1; --i) std::swap(shards[i - 1], shards[splitmix64(seed) % i]);
    auto merged = merge(std::move(shards));
    ASSERT_TRUE(merged) << merged.error().front().message;
    EXPECT_EQ(merged->info.merged, count);
    merged->info.merged = 0;
    if (count == 1) merged->end->unmatched.pop_back();  // its own is everybody's
    EXPECT_EQ(to_json(merged->info), to_json(run.info));
    EXPECT_EQ(to_json(*merged->end), to_json(*run.end));
    EXPECT_EQ(merged->environment, run.environment);
    ASSERT_EQ(merged->verdicts.size(), run.verdicts.size());
    for (std::size_t i = 0; i < run.verdicts.size(); ++i)
      EXPECT_EQ(to_json(merged->verdicts[i]), to_json(run.verdicts[i]));
    EXPECT_TRUE(merged->complete());
  }
}

TEST(Merge, NamesWhatIsMissingOrThereTwice) {
  const std::vector<RunRecord> shards = deal(whole_run(20), 4, 1);
  EXPECT_THAT(errors({shards[3], shards[0]}), ElementsAre("of 4 shards 2, 3 are missing"));
  EXPECT_THAT(errors({shards[0], shards[1], shards[3]}), ElementsAre("of 4 shards 3 is missing"));
  EXPECT_THAT(errors({shards[0], shards[1], shards[2], shards[3], shards[1]}),
              ElementsAre("shard 2/4 in s2 and shard 2/4 in s2 are the same shard"));
  EXPECT_THAT(errors({}), ElementsAre("there are no shards"));
  EXPECT_THAT(errors(deal(whole_run(20), 100, 1)), testing::IsEmpty());
  std::vector<RunRecord> few = deal(whole_run(20), 100, 1);
  few.resize(1);
  EXPECT_THAT(errors(few), ElementsAre(HasSubstr("20, 21 are missing, and more")));
}

TEST(Merge, TakesOnlyWholeShards) {
  std::vector<RunRecord> shards = deal(whole_run(20), 2, 1);
  RunRecord run = whole_run(3);
  run.directory = "elsewhere";
  EXPECT_THAT(errors({shards[0], run}), ElementsAre("the run in elsewhere is no shard"));
  std::vector<RunRecord> cut = shards;
  cut[1].verdicts.pop_back();
  EXPECT_THAT(errors(cut),
              ElementsAre(HasSubstr("shard 2/2 in s2 did not come to its end: it has")));
  cut = shards;
  cut[0].end.reset();
  cut[1].end->interrupted = true;
  EXPECT_THAT(errors(cut), ElementsAre(HasSubstr("shard 1/2"), HasSubstr("shard 2/2")));
  cut = shards;
  cut[1].info.shard->number = 3;
  EXPECT_THAT(errors(cut), ElementsAre("the run in s2 calls itself shard 3 of 2"));
}

// Whatever two shards do not share that decides verdicts is told.
TEST(Merge, TakesOnlyShardsOfOneRun) {
  const std::vector<RunRecord> shards = deal(whole_run(20), 2, 1);
  const auto changed = [&](const std::function<void(RunRecord&)>& change) {
    std::vector<RunRecord> all = shards;
    change(all[1]);
    return errors(all);
  };
  const std::string strangers = "shard 1/2 in s1 and shard 2/2 in s2 are of different runs: ";
  EXPECT_THAT(changed([](RunRecord& run) { run.info.digests["judge"] = "other"; }),
              ElementsAre(strangers + "other judge"));
  EXPECT_THAT(changed([](RunRecord& run) { run.info.version = "0.2.0"; }),
              ElementsAre(strangers + "Lockstep 0.1.0 and 0.2.0"));
  EXPECT_THAT(changed([](RunRecord& run) { run.info.shard->plan = "x"; }),
              ElementsAre(HasSubstr(strangers + "shards of other plans")));
  EXPECT_THAT(changed([](RunRecord& run) { run.environment["eager"]["torch"] = "2.13.0"; }),
              ElementsAre(strangers + R"(the eager worker has torch "2.15.0" and "2.13.0")"));
  for (const std::function<void(RunRecord&)>& change :
       {std::function<void(RunRecord&)>([](RunRecord& run) { run.info.min_judged = 5; }),
        std::function<void(RunRecord&)>([](RunRecord& run) { run.info.level = "core"; }),
        std::function<void(RunRecord&)>([](RunRecord& run) { run.info.devices = {"cuda"}; }),
        std::function<void(RunRecord&)>([](RunRecord& run) { run.info.paths[0].digest = "6"; })})
    EXPECT_THAT(changed(change), ElementsAre(strangers + "begun with other options"));
  EXPECT_THAT(changed([](RunRecord& run) { run.info.shard->of = 3; }),
              testing::Contains(HasSubstr("are of different runs: one of 2 and one of 3")));
}

TEST(Merge, SeesVerdictsThatAreTakenTwiceOrNever) {
  const std::vector<RunRecord> shards = deal(whole_run(20), 2, 1);
  std::vector<RunRecord> all = shards;
  all[1].verdicts.push_back(all[0].verdicts.front());
  ++all[1].info.planned;
  EXPECT_THAT(errors(all), ElementsAre(HasSubstr("shard 2/2 in s2 has the verdict")));
  all = shards;
  all[1].verdicts.pop_back();
  --all[1].info.planned;
  EXPECT_THAT(errors(all),
              ElementsAre(HasSubstr("19 verdicts together, and not those of the plan")));
  all = shards;
  all[1].verdicts.back().facts.id += "x";
  EXPECT_THAT(errors(all), ElementsAre(HasSubstr("and not those of the plan")));
  all = shards;
  for (const Verdict& verdict : shards[0].verdicts) all[1].verdicts.push_back(verdict);
  for (int i = 0; i < 20; ++i) all[1].verdicts.push_back(shards[0].verdicts.front());
  all[1].info.planned = all[1].verdicts.size();
  EXPECT_EQ(errors(all).size(), 11U);  // ten, and how many more
}

}  // namespace
}  // namespace lockstep
