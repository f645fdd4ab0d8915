#include "reports/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "record/judged.h"
#include "reports/fixtures.h"
#include "verdict/fingerprint.h"

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
  EXPECT_EQ(document["format"], 3);
  ASSERT_EQ(document["verdicts"].size(), record.verdicts.size());
  for (std::size_t i = 0; i < record.verdicts.size(); ++i) {
    Json expected = to_json(record.verdicts[i]);
    for (const Fingerprint& fingerprint : fingerprints_of(record.verdicts[i]))
      expected["fingerprints"].push_back(fingerprint.name);
    EXPECT_EQ(document["verdicts"][i], expected);
  }
  EXPECT_EQ(document["fingerprints"][0]["name"], "to:value");
  EXPECT_EQ(document["fingerprints"][0]["failing"], 1);
  EXPECT_EQ(document["fingerprints"][0]["verdicts"], 2);
  EXPECT_EQ(document["environment"], record.environment);
  EXPECT_EQ(document["run"]["plan"], record.info.plan);
  EXPECT_EQ(document["end"]["seconds"], 83.4);
  EXPECT_EQ(document["tally"]["failing"], 17);
  EXPECT_EQ(document["tally_strict"]["failing"], 20);
  EXPECT_EQ(document["conform_by"]["bits"], 1);
  EXPECT_EQ(document["conform_by"]["close"], 1);
  EXPECT_EQ(document["conform_by"]["weak"], 1);
  EXPECT_EQ(document["judged"]["judged"], judged(record).judged);
  EXPECT_EQ(document["judged"]["could"], 24);  // an extension, and what this torch lacks
  EXPECT_EQ(document["complete"], true);
}

TEST(RunJson, InvalidUtf8IsRepaired) {
  const Json document = Json::parse(run_json(hostile_run()), nullptr, false);
  ASSERT_TRUE(document.is_object());
  EXPECT_TRUE(document["end"]["interrupted"]);
}

}  // namespace
}  // namespace lockstep
