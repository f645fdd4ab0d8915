#include "certificate/archive.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/fixtures.h"
#include "base/fuzzing.h"
#include "base/text.h"

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

/// The header of a tar that says this size, before it says anything else.
std::string begin_of(const std::string& size) {
  std::string block = archive().substr(0, 512);
  block.replace(0, 13, "a.json\0\0\0\0\0\0\0", 13);
  return block.replace(124, 11, size);
}

TEST(Archive, LimitsAreThoseOfTheDocument) {
  const std::string text = read_source("docs/reference/log.md");
  for (const std::string& row :
       {fmt::format("| an archive | bytes | {} |", grouped(kArchiveLimits.bytes)),
        fmt::format("| | files | {} |", grouped(kArchiveLimits.files))})
    EXPECT_NE(text.find(row), std::string::npos) << row;
}

TEST(Archive, LimitsAreNamedBeforeAnythingIsHeld) {
  std::size_t given = 0;
  const std::string zeros(1 << 16, '\0');
  const auto endless = [&](const std::string& begin) {
    given = 0;
    return [&, begin]() -> Result<std::string_view> {
      const std::string& piece = given == 0 ? begin : zeros;
      given += piece.size();
      return piece;
    };
  };
  const auto huge = read_archive(endless(begin_of("77777777777")));
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().message,
            "found more than 268,435,456 bytes, the most that an archive may have");
  EXPECT_LT(given, 1u << 20);
  const auto long_one = read_archive(endless(begin_of("01777777777")));  // 256 MiB less one byte
  ASSERT_FALSE(long_one);
  EXPECT_NE(long_one.error().message.find("268,435,456 bytes"), std::string::npos);
  const auto broken = read_archive([]() -> Result<std::string_view> { return fail("gone"); });
  EXPECT_EQ(broken.error().message, "gone");
  ArchiveFiles many;
  for (std::size_t i = 0; i < kArchiveLimits.files + 1; ++i) many[std::to_string(i)] = "";
  const auto read = read_archive(*write_archive(many));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message,
            "found more than 10,000 files, the most that an archive may have");
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
