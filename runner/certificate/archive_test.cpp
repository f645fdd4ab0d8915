#include "certificate/archive.h"

#include <gtest/gtest.h>

#include "base/fuzzing.h"

namespace lockstep {
namespace {

const ArchiveFiles kFiles = {
    {"a.json", "{}"}, {"b/c.bin", std::string(1000, '\x7f')}, {"empty", ""}};

std::string archive() {
  const auto written = write_archive(kFiles);
  EXPECT_TRUE(written);
  return written.value_or("");
}

TEST(Archive, GivesBackWhatWasWritten) {
  const auto read = read_archive(archive());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, kFiles);
  EXPECT_EQ(archive(), archive());
}

TEST(Archive, IsATarArchive) {
  const std::string bytes = archive();
  EXPECT_EQ(bytes.size() % 512, 0U);
  EXPECT_EQ(bytes.substr(257, 8), std::string("ustar\0"
                                              "00",
                                              8));
  EXPECT_EQ(bytes.substr(0, 14), std::string("manifest.json\0", 14));
}

TEST(Archive, EveryByteCounts) {
  const std::string bytes = archive();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int change : {1, 0x20, 0x80}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ change);
      EXPECT_FALSE(read_archive(changed)) << "byte " << at;
    }
  }
  for (std::size_t size = 0; size < bytes.size(); size += 7)
    EXPECT_FALSE(read_archive(bytes.substr(0, size))) << size;
  EXPECT_FALSE(read_archive(bytes + '\0'));
  EXPECT_FALSE(read_archive(bytes + bytes));
}

TEST(Archive, NamesStayBelowIt) {
  for (const char* name : {"", "/etc/passwd", "../a", "a/../b", "a b", "manifest.json", "a/"})
    EXPECT_FALSE(write_archive({{name, "x"}})) << name;
  EXPECT_FALSE(write_archive({{std::string(101, 'a'), "x"}}));
}

TEST(Archive, AStrangersBytesEndNothing) {
  const std::string bytes = archive();
  const fuzz::Stint stint = fuzz::stint();
  for (std::uint64_t seed = stint.begin; seed < stint.begin + stint.count; ++seed) {
    fuzz::Random random(seed);
    const std::string changed = fuzz::changed_bytes(bytes, random);
    EXPECT_EQ(read_archive(changed).has_value(), changed == bytes) << seed;
  }
}

}  // namespace
}  // namespace lockstep
