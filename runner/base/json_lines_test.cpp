#include "base/json_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string_view>

namespace lockstep {
namespace {

/// A pipe whose one end is told things.
class JsonLinesOfAPipe : public testing::Test {
 public:
  ~JsonLinesOfAPipe() override {
    ::close(ends_[0]);
    hang_up();
  }

 protected:
  void tell(std::string_view text) {
    EXPECT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    lines_.read(0);
  }
  void hang_up() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  int ends_[2] = {-1, -1};
  JsonLines lines_{::pipe(ends_) == 0 ? ends_[0] : -1, {1 << 10, 4, 100}};
};

TEST_F(JsonLinesOfAPipe, AreWhole) {
  tell("{\"a\": 1}\n{\"b\"");
  EXPECT_EQ((*lines_.next())->dump(), R"({"a":1})");
  EXPECT_EQ(*lines_.next(), std::nullopt) << "half a line is none";
  EXPECT_FALSE(lines_.ended());
  tell(": 2}\n{}\n");
  EXPECT_EQ((*lines_.next())->dump(), R"({"b":2})");
  EXPECT_EQ((*lines_.next())->dump(), "{}");
  hang_up();
  lines_.read(-1);
  EXPECT_EQ(*lines_.next(), std::nullopt);
  EXPECT_TRUE(lines_.ended());
}

TEST_F(JsonLinesOfAPipe, AreBoundedObjects) {
  for (const char* wrong : {"[1]", "rm -rf /", "{\"a\": [[[[1]]]]}", ""}) {
    tell(std::string(wrong) + "\n");
    const auto next = lines_.next();
    ASSERT_FALSE(next) << wrong;
    EXPECT_NE(next.error().message.find(wrong), std::string::npos) << next.error().message;
  }
  tell(std::string(1025, 'x'));
  const auto next = lines_.next();
  ASSERT_FALSE(next) << "nobody waits for the end of a line that is too long";
  EXPECT_NE(next.error().message.find("more than 1,024 bytes"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
