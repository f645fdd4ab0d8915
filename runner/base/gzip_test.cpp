#include "base/gzip.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

// That others can read what comes out is tested with Python's gzip and in a browser (test_page.py).

TEST(Gzip, RepetitionsAreShort) {
  const std::string text(1 << 20, 'a');
  EXPECT_LT(gzip(text).size(), 2000U);
  EXPECT_EQ(gzip(""), std::string("\x1f\x8b\x08\0\0\0\0\0\x02\x03\x03\0\0\0\0\0\0\0\0\0", 20));
}

TEST(Gzip, ComesBackAndNothingElseDoes) {
  const std::string text = "text" + std::string(3 << 20, 'a');
  const std::string packed = gzip(text);
  EXPECT_EQ(gunzip(packed, text.size()).value_or(""), text);
  EXPECT_EQ(gunzip(gzip(""), 0).value_or("x"), "");
  EXPECT_FALSE(gunzip(packed, text.size() - 1));
  EXPECT_FALSE(gunzip(packed + "x", text.size()));
  EXPECT_FALSE(gunzip(packed.substr(0, packed.size() - 1), text.size()));
  EXPECT_FALSE(gunzip("", 10));
  EXPECT_FALSE(gunzip("no gzip", 10));
}

TEST(Gzip, WhatBecomesTooMuchIsNotHeld) {
  const std::string packed = gzip(std::string(64 << 20, 'a'));
  for (const Unpacked& limits : {Unpacked{1 << 20}, Unpacked{SIZE_MAX, 200}}) {
    const Pieces pieces = gunzip_pieces(packed, limits);
    std::size_t got = 0;
    while (true) {
      const auto piece = pieces();
      if (!piece) {
        EXPECT_NE(piece.error().message.find("which is the most that may be"), std::string::npos);
        break;
      }
      ASSERT_FALSE(piece->empty());
      EXPECT_LE(piece->size(), std::size_t{1} << 16);
      got += piece->size();
    }
    // By the ratio as soon as it shows, which zlib's window lets it do late.
    EXPECT_LE(got, std::size_t{limits.ratio == 200 ? 16u << 20 : 1u << 20});
    EXPECT_FALSE(pieces());
  }
  EXPECT_TRUE(gunzip(packed, 64 << 20));
}

TEST(Base64, IsThatOfTheRfc) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

}  // namespace
}  // namespace lockstep
