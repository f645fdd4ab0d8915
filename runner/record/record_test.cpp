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
  info.suite = "abc";
  info.plan = "def";
  info.planned = 12;
  info.jobs = 2;
  info.paths = {{"inductor", "Inductor", "values"}};
  info.devices = {"cpu", "cuda"};
  const Result<RunInfo> back = run_info_from_json(to_json(info));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(info));
  EXPECT_EQ(to_json(info).begin().key(), "type");
}

TEST(RunInfo, RefusesOtherFormatsAndShapes) {
  nlohmann::ordered_json json = to_json(RunInfo{});
  json["format"] = 3;
  EXPECT_THAT(run_info_from_json(json).error().message, testing::HasSubstr("format 3"));
  json["format"] = 1;
  json["paths"] = 3;
  EXPECT_FALSE(run_info_from_json(json));
  EXPECT_FALSE(run_info_from_json(nlohmann::ordered_json::array()));
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
