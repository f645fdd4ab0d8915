#include "record/kept.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "record/fingerprints.h"
#include "record/log.h"
#include "record/transitions.h"
#include "reports/fixtures.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::SizeIs;

class StoreTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }
  const fs::path folder_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(StoreTest, KeepsAllThatAGateReads) {
  const RunRecord run = sample_run();
  const auto file = put_into_store(folder_, run);
  ASSERT_TRUE(file) << file.error().message;
  const auto back = read_log(*file);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_THAT(back->verdicts, SizeIs(run.verdicts.size()));
  EXPECT_THAT(compare_runs(run, *back).changes, SizeIs(0));
  for (std::size_t i = 0; i < run.verdicts.size(); ++i)
    EXPECT_EQ(explained_fingerprints_of(back->verdicts[i]),
              explained_fingerprints_of(run.verdicts[i]));
  // It is only added to.
  const auto written = fs::last_write_time(*file);
  ASSERT_TRUE(put_into_store(folder_, run));
  EXPECT_EQ(fs::last_write_time(*file), written);
  EXPECT_THAT(logs_of_store(folder_), ElementsAre(*file));
}

TEST_F(StoreTest, NamesNoOtherFolder) {
  RunRecord run = sample_run();
  run.info.started = "../../x";
  run.info.plan = "/../a";
  run.environment["eager"]["torch"] = "../2.13/" + std::string(300, 'a');
  const auto file = put_into_store(folder_, run);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->parent_path(), folder_);
  EXPECT_LT(file->filename().string().size(), 120U);
}

TEST_F(StoreTest, TakesLittle) {
  const RunRecord run = large_run(40'000);
  const auto file = put_into_store(folder_, run);
  ASSERT_TRUE(file);
  EXPECT_LT(fs::file_size(*file), 2U << 20);
}

TEST(Store, LetsGoByItsRules) {
  const std::vector<fs::path> logs = {
      "2026-08-03T02-00-00Z_2.14.0.dev20260803_a.jsonl.gz",  // a Monday: the first of its week
      "2026-08-04T02-00-00Z_2.14.0.dev20260804_a.jsonl.gz",
      "2026-08-05T02-00-00Z_2.13.0+cpu_a.jsonl.gz",  // a release
      "2026-08-09T02-00-00Z_2.14.0.dev20260809_a.jsonl.gz",
      "2026-08-10T02-00-00Z_2.14.0.dev20260810_a.jsonl.gz",  // another week
      "mine.jsonl.gz",
      "2026-11-20T02-00-00Z_2.14.0.dev20261120_a.jsonl.gz",
      "2026-11-21T02-00-00Z_2.14.0.dev20261121_a.jsonl.gz"};
  EXPECT_THAT(may_go(logs, 60), ElementsAre(logs[1], logs[3]));
  EXPECT_THAT(may_go(logs, 200), SizeIs(0));
}

}  // namespace
}  // namespace lockstep
