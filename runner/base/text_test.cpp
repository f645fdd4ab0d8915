#include "base/text.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Text, GlobsMatchWholeTextsAndKnowOnlyTwoWildcards) {
  EXPECT_TRUE(glob_match("bugs/*", "bugs/1[dtype=float16]@cpu"));
  EXPECT_TRUE(glob_match("*[dtype=float16]*", "bugs/1[dtype=float16]@cpu"));
  EXPECT_TRUE(glob_match("a?c", "abc"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_FALSE(glob_match("bugs", "bugs/1"));
  EXPECT_FALSE(glob_match("[a]", "a"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_TRUE(glob_match("*a*b*c", "xxaxxbxxbxxc"));
}

TEST(Text, GlobsTakeWhatOneMatchesAndNoneExcludes) {
  const auto take = [](std::vector<std::string> globs, std::string_view text) {
    return globs_take(globs, text);
  };
  EXPECT_TRUE(take({}, "eager"));
  EXPECT_TRUE(take({"ind*", "ea*"}, "eager"));
  EXPECT_FALSE(take({"ind*"}, "eager"));
  EXPECT_TRUE(take({"*", "!eager-python"}, "eager"));
  EXPECT_FALSE(take({"*", "!eager-*"}, "eager-python"));
  EXPECT_FALSE(take({"!eager-*", "eager-python"}, "eager-python"));
  EXPECT_TRUE(take({"!eager-*"}, "inductor"));
}

TEST(Text, NearestSuggestsOnlyWhatMayBeMeant) {
  const std::vector<std::string> words = {"shape", "strides", "offset"};
  EXPECT_EQ(nearest("shap", words), "shape");
  EXPECT_EQ(nearest("stride", words), "strides");
  EXPECT_EQ(nearest("completely", words), "");
}

TEST(Text, ShellQuoteIsReadBackAsOneWord) {
  EXPECT_EQ(shell_quote("bugs/1@cpu/inductor"), "bugs/1@cpu/inductor");
  EXPECT_EQ(shell_quote("a[b=c]"), "'a[b=c]'");
  EXPECT_EQ(shell_quote("it's $(rm)"), "'it'\\''s $(rm)'");
  EXPECT_EQ(shell_quote(""), "''");
}

TEST(Text, ValidUtf8RepairsEveryBrokenSequence) {
  EXPECT_EQ(valid_utf8("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(valid_utf8("\xc3"), "\xef\xbf\xbd");
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a\xef\xbf\xbd"
            "b");
}

TEST(Text, ContainsComparesWholeWords) {
  const std::vector<std::string> words = {"ab", "c"};
  EXPECT_TRUE(contains(words, "c"));
  EXPECT_FALSE(contains(words, "a"));
  EXPECT_FALSE(contains({}, ""));
}

TEST(Text, OneLineIsOneLine) {
  EXPECT_EQ(one_line("a\nb\tc"), "a b c");
  EXPECT_EQ(one_line("abcdef", 3), "abc...");
}

TEST(Text, GroupedSetsThousandsApart) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

}  // namespace
}  // namespace lockstep
