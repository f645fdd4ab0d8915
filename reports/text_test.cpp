#include "reports/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace lockstep {
namespace {

TEST(Clean, DropsWhatATerminalWouldObey) {
  EXPECT_EQ(clean("\x1b[1;31mred\x1b[0m \x1b]0;title\a\x1b]8;;x\x1b\\link"), "red link");
  EXPECT_EQ(clean("a\x1b"), "a");
  EXPECT_EQ(clean("a\x1b["), "a");
  EXPECT_EQ(clean("a\x1b[12"), "a");
  EXPECT_EQ(clean("a\x1b]no end\nb"), "a]no end\nb");
  EXPECT_EQ(clean("a\bb\x7f\x01\tc"), "ab\tc");
  EXPECT_EQ(clean("\xc2\x9b"
                  "31m"),
            "31m");
}

TEST(Clean, EndsLinesWithNewlinesOnly) { EXPECT_EQ(clean("a\r\nb\rc\n"), "a\nb\nc\n"); }

TEST(Clean, DropsMarksThatReorderAndNoncharacters) {
  EXPECT_EQ(clean("a\u202eb\u2066c\u200fd\u2028e\uffff\ufffe"), "abcde");
  EXPECT_EQ(clean("ä – “x” 漢 😀 \ufffd"), "ä – “x” 漢 😀 \ufffd");
}

TEST(Clean, RepairsUtf8) { EXPECT_EQ(clean("\xff\xc3("), "\ufffd\ufffd("); }

TEST(Cut, KeepsBothEndsAndSaysWhatIsMissing) {
  EXPECT_EQ(cut("short", 5), "short");
  EXPECT_EQ(cut("aaabbbbbbccccc", 9), "aaa\n[... 5 bytes left out ...]\nbccccc");
  for (std::size_t limit = 0; limit < 12; ++limit) {
    const std::string text = cut("äöü漢字😀ß", limit);
    EXPECT_EQ(text, valid_utf8(text)) << limit;
  }
}

TEST(Cut, KeepsTheErrorOfACompilerFromTheMiddle) {
  const std::string noise = std::string(500, 'x') + "\n";
  const std::string error = "a.cpp:3:4: error: 'tmp' was not declared";
  EXPECT_EQ(cut(noise + error + "\n" + noise, 300), std::string(100, 'x') +
                                                        "\n[... 743 bytes left out ...]\n" + error +
                                                        "\n[...]\n" + std::string(199, 'x') + "\n");
  EXPECT_EQ(cut(noise + error + "\n" + noise, 60).find("error"), std::string::npos);
}

TEST(CutColumns, NeverSplitsACharacter) {
  EXPECT_EQ(cut_columns("äöü", 3), "äöü");
  EXPECT_EQ(cut_columns("äöüß", 3), "äö…");
  EXPECT_EQ(cut_columns("abc", 1), "…");
  EXPECT_EQ(cut_columns("abc", 0), "");
}

TEST(Wrapped, BreaksAtBlanksAndLosesNothing) {
  EXPECT_EQ(wrapped("a bc def\n", 0), "a bc def\n");
  EXPECT_EQ(wrapped("a bc def\n", 8), "a bc def\n");
  EXPECT_EQ(wrapped("a bc def\n", 7), "a bc\n    def\n");
  EXPECT_EQ(wrapped("  one two three\nfour\n", 10), "  one two\n      three\nfour\n");
  EXPECT_EQ(wrapped("averylongword another\n", 5), "averylongword\n    another\n");
  EXPECT_EQ(wrapped("äöü ß\n", 5), "äöü ß\n") << "columns, not bytes";
  EXPECT_EQ(wrapped("\x1b[1mab cd\x1b[0m\n", 5), "\x1b[1mab cd\x1b[0m\n");
  EXPECT_EQ(wrapped("  ci/lockstep run 'a b' --c\n", 5), "  ci/lockstep run 'a b' --c\n");
  EXPECT_EQ(wrapped("\n\na\n", 5), "\n\na\n");
}

}  // namespace
}  // namespace lockstep
