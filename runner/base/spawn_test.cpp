#include "base/spawn.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"

namespace lockstep {
namespace {

class SpawnTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Spawn spawn(std::vector<std::string> argv) const {
    return {std::move(argv), {}, {}, folder_ / "out", folder_ / "err"};
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SpawnTest, WordsArePassedAsTheyAre) {
  const std::string hostile = "$(touch x); `id` 'a' \"b\" *\n";
  ASSERT_TRUE(run_to_end(spawn({"printf", "%s", hostile})));
  EXPECT_EQ(read_file(folder_ / "out"), hostile);
}

TEST_F(SpawnTest, VariablesAreSetAnewAndInputIsRead) {
  ASSERT_TRUE(write_file(folder_ / "in", "read\n"));
  Spawn wanted = spawn({"sh", "-c", "echo $HOME; cat"});
  wanted.environment = {{"HOME", "elsewhere"}};
  wanted.input = folder_ / "in";
  ASSERT_TRUE(run_to_end(wanted));
  EXPECT_EQ(read_file(folder_ / "out"), "elsewhere\nread\n");
}

TEST_F(SpawnTest, WhatEndsBadlySaysWhy) {
  EXPECT_EQ(run_to_end(spawn({"sh", "-c", "echo 'no torch' >&2; exit 3"})).error().message,
            "no torch");
  EXPECT_EQ(run_to_end(spawn({"false"})).error().message, "false says nothing and exits with 1");
  EXPECT_EQ(run_to_end(spawn({"sh", "-c", "kill -9 $$"})).error().message,
            "sh says nothing and is killed by 9");
  EXPECT_FALSE(run_to_end(spawn({"no-such-program"})));
}

TEST_F(SpawnTest, WhatIsPrintedIsBounded) {
  const auto printed = printed_by({{"sh", "-c", "echo one; exit 2"}, {}, {}, {}, {}}, 10);
  ASSERT_TRUE(printed);
  EXPECT_EQ(printed->status, 2);
  EXPECT_EQ(printed->text, "one\n");
  EXPECT_FALSE(printed_by({{"sh", "-c", "echo 12345678901"}, {}, {}, {}, {}}, 10));
  EXPECT_FALSE(printed_by({{"no-such-program"}, {}, {}, {}, {}}, 10));
  EXPECT_EQ(exit_status_of(spawn({"sh", "-c", "kill -9 $$"})), 128 + 9);
}

}  // namespace
}  // namespace lockstep
