#include "reports/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "reports/fixtures.h"

namespace lockstep {
namespace {

TEST(RunJson, Golden) { expect_golden("sample.run.json", run_json(sample_run())); }

TEST(RunJson, TheTextIsTheDocument) {
  for (const RunRecord& record : {sample_run(), RunRecord{}}) {
    EXPECT_EQ(Json::parse(run_json(record)), run_document(record));
  }
}

TEST(RunJson, HasEverythingThatTheLogHas) {
  const RunRecord record = sample_run();
  const Json document = run_document(record);
  EXPECT_EQ(document.begin().key(), "format");
  EXPECT_EQ(document["format"], 1);
  ASSERT_EQ(document["verdicts"].size(), record.verdicts.size());
  for (std::size_t i = 0; i < record.verdicts.size(); ++i) {
    EXPECT_EQ(document["verdicts"][i], to_json(record.verdicts[i]));
  }
  EXPECT_EQ(document["environment"], record.environment);
  EXPECT_EQ(document["run"]["plan"], record.info.plan);
  EXPECT_EQ(document["end"]["seconds"], 83.4);
  EXPECT_EQ(document["tally"]["failing"], 14);
  EXPECT_EQ(document["tally_strict"]["failing"], 16);
}

TEST(RunJson, InvalidUtf8IsRepaired) {
  const Json document = Json::parse(run_json(hostile_run()), nullptr, false);
  ASSERT_TRUE(document.is_object());
  EXPECT_TRUE(document["end"]["interrupted"]);
}

}  // namespace
}  // namespace lockstep
