#include "base/pattern.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Pattern, IsFoundAnywhere) {
  const auto found = [](std::string_view pattern, std::string_view text) {
    const auto result = is_found(pattern, text);
    EXPECT_TRUE(result) << pattern;
    return result.value_or(false);
  };
  EXPECT_TRUE(found("", ""));
  EXPECT_TRUE(found("sizes \\d+ and \\d+", "the sizes 3 and 4\ndo not match"));
  EXPECT_TRUE(found("b$", "a\nb"));
  EXPECT_TRUE(found("^a", "ab"));
  EXPECT_FALSE(found("^b", "ab"));
  EXPECT_TRUE(found("(?:same dtype|expected .*type|Half)", "line\nexpected a type"));
  EXPECT_TRUE(found("\\bto\\b", "from to where"));
  EXPECT_FALSE(found("[0-9]{3}", "12 34"));
  EXPECT_TRUE(found("x|", "anything"));
  EXPECT_TRUE(found("b", std::string(100'000, 'a') + "b"));
  EXPECT_TRUE(found("^.$", "\u2026")) << "a character, not a byte";
}

// Each of these takes a backtracking matcher longer than the test may last.
TEST(Pattern, NeverRunsAway) {
  const std::string text = std::string(1 << 20, 'a') + "!";
  for (const std::string pattern :
       {"(a+)+$", "(a|a)+$", "(a|aa)+$", "(.*)*(.*)*(.*)*x", "([a-z]+)*=", "(a?){200}a{200}b"}) {
    const auto result = is_found(pattern, text);
    ASSERT_TRUE(result) << pattern << ": " << result.error().message;
    EXPECT_FALSE(*result) << pattern;
  }
}

TEST(Pattern, RefusesWhatIsNoneOrCannotBeBounded) {
  for (const std::string& pattern :
       {std::string("("), std::string(")"), std::string(")("), std::string("[z-a]"),
        std::string("(a)\\1"), std::string("(?=a)"), std::string("a(?!b)"),
        std::string("(a{100}){100}"), std::string("(a?){60000}"), std::string(501, 'a')}) {
    const auto result = is_found(pattern, "aa");
    ASSERT_FALSE(result) << pattern;
    EXPECT_NE(result.error().message.find("cannot match"), std::string::npos);
    EXPECT_FALSE(result.error().hint.empty());
  }
}

}  // namespace
}  // namespace lockstep
