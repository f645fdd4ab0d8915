#include "base/value_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

/// What files of strangers there are in a folder `values`.
class Values : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_ / kValuesFolder);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string put(const std::string& bytes) {
    std::string name = sha256(bytes) + ".bin";
    EXPECT_TRUE(write_values(folder_, {{name, std::make_shared<const std::string>(bytes)}}));
    return name;
  }
  static void refused(const Result<std::shared_ptr<const std::string>>& read,
                      const std::string& part) {
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find(part), std::string::npos) << read.error().message;
    EXPECT_FALSE(read.error().hint.empty());
  }

  fs::path folder_;
};

const std::string kName = std::string(64, 'a') + ".bin";

TEST_F(Values, NamesAreDigests) {
  EXPECT_TRUE(names_values(kName));
  for (const std::string& name :
       {std::string(), std::string(64, 'a'), std::string(64, 'A') + ".bin",
        std::string(63, 'a') + ".bin", std::string(65, 'a') + ".bin", "../" + kName, kName + "x",
        std::string(63, 'a') + "/.bin", std::string(64, 'a') + ".BIN"})
    EXPECT_FALSE(names_values(name)) << name;
}

TEST_F(Values, EachIsReadOnceAndAllTogetherAreBounded) {
  ValueFiles files(10);
  const std::string four = put("four"), five = put("fives"), two = put("2!");
  const auto first = files.read(folder_, four, 4);
  ASSERT_TRUE(first);
  EXPECT_EQ(**first, "four");
  fs::remove(folder_ / kValuesFolder / four);
  const auto again = files.read(folder_, four, 4);
  ASSERT_TRUE(again) << "it is in memory";
  EXPECT_EQ(*first, *again);
  refused(files.read(folder_, four, 5), "of 4 bytes, expected 5");
  EXPECT_TRUE(files.read(folder_, five));
  refused(files.read(folder_, two, 2),
          "found a file of 2 bytes, expected at most 1: all files of "
          "values together have at most 10");
  refused(files.read(folder_, two), "it has 2 bytes, at most 1 may be read");
  EXPECT_TRUE(ValueFiles(2).read(folder_, two, 2));
}

TEST_F(Values, TheSameNameElsewhereIsAnotherFile) {
  ValueFiles files;
  const std::string name = put("four");
  ASSERT_TRUE(files.read(folder_, name, 4));
  refused(files.read(folder_ / "elsewhere", name, 4), "No such file or directory");
}

TEST_F(Values, AHugeFileIsNeverRead) {
  const fs::path file = folder_ / kValuesFolder / kName;
  const int fd = ::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ASSERT_EQ(::ftruncate(fd, off_t{40} << 30), 0);
  ::close(fd);
  ValueFiles files;
  refused(files.read(folder_, kName, 4), "it has 42,949,672,960 bytes, at most 4 may be read");
  refused(files.read(folder_, kName), "at most 67,108,864 may be read");
  refused(files.read(folder_, kName, std::size_t{40} << 30),
          "found a file of 42,949,672,960 bytes, expected at most 67,108,864");
}

TEST_F(Values, OnlyRegularFilesAreOpened) {
  const fs::path file = folder_ / kValuesFolder / kName;
  ValueFiles files;
  refused(files.read(folder_, kName, 4), "No such file or directory");
  for (const char* to : {"/dev/zero", "/etc/passwd", "nowhere"}) {
    fs::create_symlink(to, file);
    refused(files.read(folder_, kName, 4), "it is a link");
    fs::remove(file);
  }
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  refused(files.read(folder_, kName, 4), "it is no regular file");
  fs::remove(file);
  fs::create_directory(file);
  refused(files.read(folder_, kName, 4), "it is no regular file");
  fs::remove_all(folder_ / kValuesFolder);
  fs::create_directory_symlink("/dev", folder_ / kValuesFolder);
  refused(files.read(folder_, kName, 4), "values is a link");
  fs::remove(folder_ / kValuesFolder);
  ASSERT_EQ(::mkfifo((folder_ / kValuesFolder).c_str(), 0600), 0);
  refused(files.read(folder_, kName, 4), "Not a directory");
}

TEST_F(Values, AnotherContentIsRefused) {
  const std::string name = put("four");
  ASSERT_TRUE(write_file(folder_ / kValuesFolder / name, "five"));
  ValueFiles files;
  refused(files.read(folder_, name, 4), "SHA-256 " + sha256("five"));
  ASSERT_TRUE(write_file(folder_ / kValuesFolder / name, "fou"));
  refused(files.read(folder_, name, 4), "of 3 bytes, expected 4");
  ASSERT_TRUE(write_file(folder_ / kValuesFolder / name, "four"));
  EXPECT_TRUE(files.read(folder_, name, 4)) << "what was refused is not kept";
}

}  // namespace
}  // namespace lockstep
