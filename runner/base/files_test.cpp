#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>

namespace lockstep {
namespace {
namespace fs = std::filesystem;

class WriteFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "lockstep-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(root_), {}));
  }

  fs::path root_;
};

TEST_F(WriteFile, ReplacesAFileAndLeavesNothingElse) {
  ASSERT_TRUE(write_file(root_ / "a", "old and longer"));
  ASSERT_TRUE(write_file(root_ / "a", "new"));
  EXPECT_EQ(read_file(root_ / "a").value_or(""), "new");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(WriteFile, WritesWhatALinkNamesAndKeepsTheLink) {
  fs::create_directory(root_ / "folder");
  ASSERT_TRUE(write_file(root_ / "folder" / "there", "old"));
  fs::create_symlink("folder/there", root_ / "first");  // relative to where the link is
  fs::create_symlink("first", root_ / "second");
  fs::create_symlink("folder/not yet", root_ / "dangling");
  for (const auto& [link, target] : {std::pair("second", "there"), {"dangling", "not yet"}}) {
    const auto written = write_file(root_ / link, "new");
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_TRUE(fs::is_symlink(root_ / link)) << link;
    EXPECT_EQ(read_file(root_ / "folder" / target).value_or(""), "new") << link;
  }
  EXPECT_TRUE(fs::is_symlink(root_ / "first"));
}

TEST_F(WriteFile, WritesIntoAPipeAndKeepsIt) {
  const fs::path pipe = root_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  auto reader = std::async(std::launch::async, [&] {
    std::ifstream file(pipe);
    return std::string(std::istreambuf_iterator<char>(file), {});
  });
  EXPECT_TRUE(write_file(pipe, "through it"));
  ASSERT_TRUE(fs::is_fifo(pipe));  // else the reader waits for ever
  EXPECT_EQ(reader.get(), "through it");
}

TEST_F(WriteFile, WritesADeviceAndKeepsIt) {
  const fs::path null = root_ / "null", full = root_ / "full";
  if (::mknod(null.c_str(), S_IFCHR | 0600, ::makedev(1, 3)) != 0 ||
      ::mknod(full.c_str(), S_IFCHR | 0600, ::makedev(1, 7)) != 0)
    GTEST_SKIP() << "only root may make devices";
  fs::create_symlink("null", root_ / "link");
  EXPECT_TRUE(write_file(null, "lost"));
  EXPECT_TRUE(write_file(root_ / "link", "lost"));
  const auto written = write_file(full, "does not fit");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("No space left"), std::string::npos);
  EXPECT_TRUE(fs::is_character_file(null) && fs::is_character_file(full));
  EXPECT_TRUE(fs::is_symlink(root_ / "link"));
}

TEST_F(WriteFile, SaysWhyItCannotAndLeavesNothing) {
  fs::create_symlink("self", root_ / "self");
  for (const fs::path& path : {root_ / "no" / "folder", root_, root_ / "self"}) {
    const auto written = write_file(path, "text");
    ASSERT_FALSE(written) << path;
    EXPECT_NE(written.error().message.find(path.string()), std::string::npos);
  }
  EXPECT_EQ(entries(), 1U);
}

TEST_F(WriteFile, OnlyARegularFileIsReadAndNoneThatIsTooLarge) {
  const fs::path pipe = root_ / "pipe", sparse = root_ / "sparse";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);  // to open it would wait for a writer, for ever
  for (const fs::path& file : {pipe, fs::path("/dev/zero"), root_}) {
    const auto read = read_file(file);
    ASSERT_FALSE(read) << file;
    EXPECT_NE(read.error().message.find("no regular file"), std::string::npos);
  }
  std::ofstream(sparse) << "x";
  fs::resize_file(sparse, std::uintmax_t{40} << 30);  // more than there is memory, and no disk
  const auto read = read_file(sparse);
  ASSERT_FALSE(read);
  EXPECT_NE(
      read.error().message.find("it has 42,949,672,960 bytes, at most 67,108,864 may be read"),
      std::string::npos)
      << read.error().message;
  EXPECT_FALSE(read_file("/proc/self/maps", 10));  // of no size, before it is read
  EXPECT_TRUE(read_file("/proc/self/maps"));
  ASSERT_TRUE(write_file(root_ / "file", "12345"));
  fs::create_symlink("file", root_ / "link");
  EXPECT_EQ(read_file(root_ / "link", 5).value_or(""), "12345");
  EXPECT_FALSE(read_file(root_ / "link", 4));
}

}  // namespace
}  // namespace lockstep
