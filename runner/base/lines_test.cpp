#include "base/lines.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

/// A text in pieces of so many bytes.
Pieces in_pieces(std::string text, std::size_t size) {
  return [text = std::move(text), size, at = std::size_t{0}]() mutable -> Result<std::string_view> {
    const std::string_view piece = std::string_view(text).substr(at, size);
    at += piece.size();
    return piece;
  };
}

TEST(LineReader, GivesTheSameLinesWhateverThePieces) {
  const std::string text = "one\n\ntwo two\nthree\ntorn";
  for (std::size_t size = 1; size <= text.size() + 1; ++size) {
    LineReader lines(in_pieces(text, size), 7);
    std::vector<std::string> found;
    while (true) {
      const auto line = lines.next();
      ASSERT_TRUE(line) << line.error().message;
      if (!*line) break;
      found.emplace_back(**line);
    }
    EXPECT_EQ(found, (std::vector<std::string>{"one", "", "two two", "three"})) << size;
    EXPECT_EQ(lines.count(), 4u);
    EXPECT_EQ(lines.bytes(), text.size() - 4);
    EXPECT_EQ(lines.torn(), 4u);
  }
}

TEST(LineReader, HoldsNoLineThatIsTooLong) {
  std::size_t given = 0;
  const std::string piece(1 << 10, 'x');
  LineReader lines(
      [&]() -> Result<std::string_view> {  // without end
        given += piece.size();
        return piece;
      },
      10'000);
  const auto line = lines.next();
  ASSERT_FALSE(line);
  EXPECT_NE(line.error().message.find("more than 10,000 bytes"), std::string::npos);
  EXPECT_LT(given, 12'000u);
}

TEST(LineReader, PassesOnWhatItsPiecesMet) {
  LineReader lines([]() -> Result<std::string_view> { return fail("gone"); }, 10);
  EXPECT_EQ(lines.next().error().message, "gone");
}

}  // namespace
}  // namespace lockstep
