#include "engine/post_mortem.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/files.h"
#include "engine/scratch.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

/// What an execution may leave in place of the files that it should write.
class Ends : public testing::Test {
 protected:
  Ends() : scratch_(std::move(*Scratch::create())), file_(scratch_.path() / "file") {}
  Scratch scratch_;
  fs::path file_;
};

TEST_F(Ends, OnlyTheEndOfAHugeFileIsRead) {
  std::ofstream(file_) << "short";
  EXPECT_EQ(tail_of(file_), "short");
  fs::resize_file(file_, std::uintmax_t{1} << 40);  // sparse; more than any machine's memory
  std::ofstream(file_, std::ios::app) << "last words";
  const std::string tail = tail_of(file_);
  EXPECT_TRUE(tail.starts_with("[...]\n"));
  EXPECT_TRUE(tail.ends_with("last words"));
  EXPECT_LT(tail.size(), 1U << 16);
}

TEST_F(Ends, NothingButAFileIsRead) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);  // to open it would wait for a writer, for ever
  EXPECT_EQ(tail_of(file_), "");
  EXPECT_FALSE(FileCopy::open(file_));
  std::ofstream(scratch_.path() / "secret") << "secret";
  fs::create_symlink(scratch_.path() / "secret", scratch_.path() / "link");
  EXPECT_EQ(tail_of(scratch_.path() / "link"), "");
  EXPECT_FALSE(FileCopy::open(scratch_.path() / "link"));
  EXPECT_EQ(tail_of(scratch_.path() / "none"), "");
}

TEST_F(Ends, AFileThatIsShortenedIsStillWhole) {
  for (const std::size_t size : {std::size_t{10000}, std::size_t{3} << 20}) {
    const std::string text(size, 'x');
    std::ofstream(file_) << text;
    const auto copy = FileCopy::open(file_);
    ASSERT_TRUE(copy);
    fs::resize_file(file_, 0);
    const std::span<const std::byte> bytes = (*copy)->bytes();
    // Were it mapped, this would end the process by SIGBUS.
    EXPECT_TRUE(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) ==
                text);
  }
}

TEST_F(Ends, LargeFilesAndEmptyOnesAreCopied) {
  EXPECT_FALSE(FileCopy::open(file_));
  std::ofstream(file_) << "";
  EXPECT_TRUE((*FileCopy::open(file_))->bytes().empty());
  const std::string text(3 << 20, 'x');
  std::ofstream(file_) << text;
  fs::resize_file(file_, std::uintmax_t{1} << 36);  // holes cost nothing
  const auto copy = FileCopy::open(file_);
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ((*copy)->bytes().size(), std::size_t{1} << 36);
  EXPECT_EQ((*copy)->bytes()[text.size() - 1], std::byte{'x'});
  EXPECT_EQ((*copy)->bytes()[text.size()], std::byte{0});
  EXPECT_EQ((*copy)->bytes().back(), std::byte{0});
}

Observation raised_with(const std::string& message, const std::string& detail = "") {
  auto scratch = Scratch::create();
  EXPECT_TRUE(scratch);
  const Json error = {{"stage", "compile"}, {"class", "CppCompileError"},
                      {"message", message}, {"wrapped", {"BackendCompilerFailed"}},
                      {"kind", "internal"}, {"detail", detail}};
  const Json text = {
      {"outcome", "raised"},   {"runs", Json::array()},    {"storages", Json::array()},
      {"reference", nullptr},  {"error", error},           {"reason", nullptr},
      {"stage", "compile"},    {"proof", {{"graphs", 1}}}, {"phases", Json::object()},
      {"peak_memory_bytes", 1}};
  EXPECT_TRUE(write_file(scratch->path() / "observation.json", text.dump()));
  End end;
  end.out = scratch->path();
  return observe_end(end);
}

TEST(End, AnErrorForWantOfSpaceIsNotTheCompilers) {
  const Observation seen = raised_with(
      "C++ compile error\nOutput:\nfatal error: cannot write /x: No space left on device\nstop");
  EXPECT_EQ(seen.outcome, Outcome::lost);
  EXPECT_NE(seen.reason.find("fatal error: cannot write /x: No space left on device"),
            std::string::npos)
      << seen.reason;
  EXPECT_EQ(seen.reason.find("stop"), std::string::npos) << seen.reason;
  EXPECT_EQ(seen.reason.find("a disk or a file system in memory is full"), 0u) << seen.reason;
  EXPECT_EQ(raised_with("No space left on device").outcome, Outcome::lost);
  EXPECT_EQ(raised_with("[Errno 122] Disk quota exceeded: '/home/x'").outcome, Outcome::lost);
  const Observation linking =
      raised_with("the vendor's compiler failed", "ld: final link failed: No space left on device");
  EXPECT_EQ(linking.outcome, Outcome::lost);
  EXPECT_NE(linking.reason.find("ld: final link failed"), std::string::npos) << linking.reason;
}

// A program that calls `_exit` with a status that sysexits.h calls the user's or the software's
// fault has ended the process like any other: only the worker can say that it was at fault.
TEST(End, AStatusIsTheWorkersFaultOnlyWhereTheWorkerSaysSo) {
  for (const int status : {1, 64, 70, 255}) {
    End end;
    end.stage = "run";
    end.message.exit = status;
    const Observation died = observe_end(end);
    EXPECT_EQ(died.outcome, Outcome::crashed) << status;
    EXPECT_EQ(died.reason, "exited with " + std::to_string(status) + " in the stage `run`");
    end.message.error = "run.calls is missing";
    const Observation lost = observe_end(end);
    EXPECT_EQ(lost.outcome, Outcome::lost) << status;
    EXPECT_EQ(lost.reason, "the worker failed: run.calls is missing");
  }
}

TEST(End, EveryOtherErrorStaysWhatItIs) {
  const Observation seen = raised_with("C++ compile error");
  EXPECT_EQ(seen.outcome, Outcome::raised);
  EXPECT_EQ(seen.reason, "");
  EXPECT_EQ(raised_with("std::bad_alloc").outcome, Outcome::out_of_memory);
}

}  // namespace
}  // namespace lockstep
