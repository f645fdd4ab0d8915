#include "wire/message_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bounded_json.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

const std::string kHello = R"({"type": "hello", "protocol": 2})";

TEST(MessageReader, MakesMessagesOfPieces) {
  MessageReader reader;
  const std::string text = kHello + "\n" + R"({"type": "started", "run": 17, "pid": 4711})" + "\n" +
                           R"({"type": "ended", "run": 17, "exit": 3, "error": "no"})" + "\n";
  std::vector<WorkerMessage> all;
  for (const char byte : text) {
    for (WorkerMessage& message : reader.take({&byte, 1})) all.push_back(std::move(message));
  }
  ASSERT_EQ(reader.fault(), "");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].hello["protocol"], 2);
  EXPECT_EQ(all[1].pid, 4711);
  EXPECT_EQ(all[2].exit, 3);
  EXPECT_EQ(all[2].error, "no");
}

TEST(MessageReader, TheFirstHelloCounts) {
  MessageReader reader;
  EXPECT_EQ(reader.take(kHello + "\n" + kHello + "\n").size(), 1U);
  EXPECT_THAT(reader.fault(), HasSubstr("a second hello"));
  EXPECT_TRUE(reader
                  .take(R"({"type": "started", "run": 17})"
                        "\n")
                  .empty());
}

TEST(MessageReader, ALineIsBounded) {
  MessageReader reader;
  for (std::size_t i = 0; i <= kLongestLine >> 10; ++i) reader.take(std::string(1 << 10, 'x'));
  EXPECT_THAT(reader.fault(), HasSubstr("a line of more than 1,048,576 bytes"));
}

// 200 kB of nested lists overflowed the stack; a mebibyte of keys took 9 s, each of them compared
// with all before it.
TEST(MessageReader, NothingThatALineHoldsCostsMuch) {
  MessageReader deep;
  deep.take(R"({"type": "hello", "protocol": 2, "x": )" + std::string(200'000, '[') + "\n");
  EXPECT_THAT(deep.fault(), HasSubstr("nested deeper than"));
  std::string keys = R"({"type": "hello", "protocol": 2)";
  for (int i = 0; keys.size() < kLongestLine - 32; ++i) keys += ",\"" + std::to_string(i) + "\":0";
  MessageReader many;
  many.take(keys + "}\n");
  EXPECT_THAT(many.fault(), HasSubstr("more than 65,536 values"));
}

TEST(MessageReader, AFloodIsAFault) {
  const std::string line = R"({"type": "stage", "run": 1, "stage": "run"})"
                           "\n";
  MessageReader reader;
  std::size_t messages = 0;
  for (std::size_t i = 0; i < MessageReader::kMostLines; ++i) messages += reader.take(line).size();
  EXPECT_EQ(reader.fault(), "");
  EXPECT_EQ(messages, MessageReader::kMostLines);
  reader.renew_quota();  // now it may answer
  reader.take(line);
  EXPECT_EQ(reader.fault(), "");
  for (std::size_t i = 0; i < MessageReader::kMostLines; ++i) reader.take(line);
  EXPECT_THAT(reader.fault(), HasSubstr("a flood, 16,385 lines"));

  MessageReader few;
  std::string long_line = R"({"type": "ended", "run": 1, "exit": 70, "error": ")";
  long_line += std::string(1 << 19, 'x') + "\"}\n";
  for (int i = 0; i < 100 && few.fault().empty(); ++i) few.take(long_line);
  EXPECT_THAT(few.fault(), HasSubstr("a flood, 32 lines"));
}

TEST(BoundedJson, BoundsAllThatATextCanHave) {
  const JsonBounds bounds = {.bytes = 100, .depth = 3, .values = 10};
  const auto error = [&](std::string_view text) {
    const auto read = parse_bounded_json(text, bounds);
    return read ? "none: " + read->dump() : read.error().message;
  };
  EXPECT_EQ(error(R"({"a":[1,-2,3.5],"b":{"c":[true,null,"x"]}})"),
            R"(none: {"a":[1,-2,3.5],"b":{"c":[true,null,"x"]}})");
  EXPECT_EQ(error("18446744073709551615"), "none: 18446744073709551615");
  EXPECT_EQ(error("[[[]]]"), "none: [[[]]]");
  EXPECT_THAT(error("[[[[]]]]"), HasSubstr("nested deeper than 3"));
  EXPECT_THAT(error("[1,2,3,4,5,6,7,8,9]"), HasSubstr("none"));
  EXPECT_THAT(error("[1,2,3,4,5,6,7,8,9,10]"), HasSubstr("more than 10 values"));
  EXPECT_THAT(error(std::string(101, ' ')), HasSubstr("101 bytes, at most 100"));
  EXPECT_THAT(error(R"({"a":1,"b":2,"a":3})"), HasSubstr("the key \"a\" twice"));
  EXPECT_THAT(error("[1,"), HasSubstr("parse error"));
  EXPECT_THAT(error("1e999"), HasSubstr("number overflow"));
  std::string keys = "{";
  for (int i = 0; i < 20; ++i) keys += "\"" + std::to_string(i) + "\":0,";
  const JsonBounds wide = {.bytes = 1000, .depth = 3, .values = 100};
  EXPECT_TRUE(parse_bounded_json(keys + "\"a\":0}", wide));
  EXPECT_THAT(parse_bounded_json(keys + "\"7\":0}", wide).error().message,
              HasSubstr("the key \"7\" twice"));
}

}  // namespace
}  // namespace lockstep
