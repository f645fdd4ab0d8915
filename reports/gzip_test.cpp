#include "reports/gzip.h"

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

TEST(Base64, IsThatOfTheRfc) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

}  // namespace
}  // namespace lockstep
