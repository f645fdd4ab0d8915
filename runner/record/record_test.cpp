#include "record/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(RunInfo, SurvivesJson) {
  RunInfo info;
  info.version = "0.1.0";
  info.started = "2026-11-21T10:00:00Z";
  info.arguments = {"run", "bugs/*"};
  info.level = "smoke";
  info.digests = {{"cases", "abc"}, {"judge", "012"}};
  info.plan = "def";
  info.planned = 12;
  info.jobs = 2;
  info.min_judged = 92.5;
  info.paths = {{"inductor", "Inductor", "values", "345", {{"backend", "inductor"}}}};
  info.absent_paths = {{"inductor-strict", "torch 2.13.0 has no such thing"}};
  info.devices = {"cpu", "cuda"};
  const Result<RunInfo> back = run_info_from_json(to_json(info));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(info));
  EXPECT_EQ(to_json(info).begin().key(), "type");
  EXPECT_FALSE(to_json(info).contains("shard"));
  info.shard = ShardInfo{2, 5, "abc", 60};
  info.merged = 5;
  const Result<RunInfo> part = run_info_from_json(to_json(info));
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ(part->shard, info.shard);
  EXPECT_EQ(part->merged, 5U);
}

TEST(RunInfo, RefusesOtherFormatsAndShapes) {
  nlohmann::ordered_json json = to_json(RunInfo{});
  json["format"] = 1;
  EXPECT_THAT(run_info_from_json(json).error().message, testing::HasSubstr("format 1"));
  json["format"] = kLogFormat;
  for (const char* key : {"digests", "min_judged", "absent_paths"}) {
    nlohmann::ordered_json less = json;
    less.erase(key);
    EXPECT_FALSE(run_info_from_json(less)) << key;
  }
  json["paths"] = 3;
  EXPECT_FALSE(run_info_from_json(json));
  EXPECT_FALSE(run_info_from_json(nlohmann::ordered_json::array()));
}

TEST(RunRecordOf, IsCompleteWithAnEndAndEveryVerdict) {
  RunRecord record;
  record.info.planned = 2;
  record.verdicts.resize(2);
  EXPECT_FALSE(record.complete());
  record.end = RunEnd{};
  EXPECT_TRUE(record.complete());
  record.end->interrupted = true;
  EXPECT_FALSE(record.complete());
  record.end->interrupted = false;
  record.verdicts.pop_back();
  EXPECT_FALSE(record.complete());
}

TEST(RunEnd, SurvivesJson) {
  const RunEnd end{.seconds = 2.5, .interrupted = true, .unmatched = {{"known.json:3", "a rule"}}};
  const Result<RunEnd> back = run_end_from_json(to_json(end));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(end));
  EXPECT_FALSE(run_end_from_json({{"type", "end"}}));
}

}  // namespace
}  // namespace lockstep
