#include "run/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "engine/scratch.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// A pack of three files, two of them alike.
class Packs : public testing::Test {
 protected:
  Packs() : scratch_(std::move(*Scratch::create())), folder_(scratch_.path() / "pack") {
    EXPECT_TRUE(begin_pack(folder_));
    fs::create_directories(folder_ / "jobs" / "a");
    write("jobs/a/package.pt2", std::string(9000, 'p'));
    write("jobs/a/copy.pt2", std::string(9000, 'p'));
    write("schemas.json", "{}");
    PackInfo info;
    info.lockstep = "0.1.0";
    info.made = "2026-11-24T00:00:00Z";
    info.environment = {{"torch", "2.13.0+cpu"}};
    info.arguments = {"pack", "DIR", "bugs/*"};
    info.paths = {"aoti"};
    info.items = {"bugs/1@cpu/aoti"};
    info.left_out = {{"bugs/2@cpu/aoti", "refused: too hard"}};
    EXPECT_TRUE(end_pack(folder_, info));
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  /// What is wrong with it, one message a line.
  std::string faults() {
    const auto read = read_pack(folder_);
    if (read) return "";
    std::string text;
    for (const Error& error : read.error()) text += error.message + "\n" + error.hint + "\n";
    return text;
  }
  Scratch scratch_;
  fs::path folder_;
};

TEST_F(Packs, AreReadAsTheyWereWritten) {
  const auto read = read_pack(folder_);
  ASSERT_TRUE(read) << faults();
  EXPECT_EQ(read->environment.value("torch", ""), "2.13.0+cpu");
  EXPECT_THAT(read->items, ElementsAre("bugs/1@cpu/aoti"));
  ASSERT_EQ(read->left_out.size(), 1u);
  EXPECT_EQ(read->left_out[0].reason, "refused: too hard");
  // What is alike is there once.
  EXPECT_EQ(fs::hard_link_count(folder_ / "jobs/a/package.pt2"), 2u);
}

TEST_F(Packs, AreRefusedWhateverFileIsChanged) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  ASSERT_EQ(files.size(), 4u);
  for (const fs::path& file : files) {
    const std::string before = *read_file(file);
    for (const std::size_t at : {std::size_t{0}, before.size() / 2, before.size() - 1}) {
      std::string changed = before;
      changed[at] = changed[at] == '7' ? '8' : '7';
      fs::remove(file);  // so that what is linked to it stays
      std::ofstream(file, std::ios::binary) << changed;
      EXPECT_NE(faults(), "") << file << " at " << at;
    }
    fs::remove(file);
    EXPECT_NE(faults(), "") << "without " << file;
    std::ofstream(file, std::ios::binary) << before;
    EXPECT_EQ(faults(), "") << file;
  }
}

TEST_F(Packs, SayWhatIsWrong) {
  write("jobs/a/package.pt2", "short");  // and the other one, which is the same file
  EXPECT_THAT(faults(), HasSubstr("jobs/a/package.pt2 is not as it was packed: found 5 bytes"));
  EXPECT_THAT(faults(), HasSubstr("nothing of it is executed"));
  fs::remove(folder_ / "schemas.json");
  EXPECT_THAT(faults(), HasSubstr("schemas.json is missing"));
  write("more", "");
  EXPECT_THAT(faults(), HasSubstr("found more, which the manifest does not have"));
  fs::create_symlink("/etc/passwd", folder_ / "link");
  EXPECT_THAT(faults(), HasSubstr("found link, which is no regular file"));
  fs::remove(folder_ / kManifest);
  EXPECT_THAT(faults(), HasSubstr("found no manifest.json"));
}

TEST_F(Packs, HaveManifestsThatNobodyEdits) {
  std::string text = *read_file(folder_ / kManifest);
  text.replace(text.find("bugs/1"), 6, "bugs/9");
  write(kManifest, text);
  EXPECT_THAT(faults(), HasSubstr("found a manifest that is not as it was written"));
  write(kManifest, R"({"format": 2})");
  EXPECT_THAT(faults(), HasSubstr("manifest.json:1:"));
  write(kManifest, "{");
  EXPECT_NE(faults(), "");
}

TEST_F(Packs, AreNeverWrittenOverOthers) {
  EXPECT_FALSE(begin_pack(folder_));
  EXPECT_FALSE(begin_pack(folder_ / "schemas.json"));
  EXPECT_TRUE(begin_pack(scratch_.path() / "another"));
}

}  // namespace
}  // namespace lockstep
