#include "run/chunk_requests.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string_view>

namespace lockstep {
namespace {

/// A pipe whose one end is told things.
class ChunkRequestsOfAPipe : public testing::Test {
 protected:
  ChunkRequestsOfAPipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~ChunkRequestsOfAPipe() override {
    ::close(ends_[0]);
    hang_up();
  }
  void tell(std::string_view text) const {
    EXPECT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void hang_up() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  int ends_[2] = {-1, -1};
};

TEST_F(ChunkRequestsOfAPipe, ComeInWholeLines) {
  tell(R"({"arguments": ["run"]})"
       "\n"
       R"({"items": [[3, 5], [9)");
  auto requests = ChunkRequests::open(ends_[0]);
  ASSERT_TRUE(requests) << requests.error().message;
  EXPECT_EQ(requests->first()["arguments"][0], "run");
  EXPECT_EQ(*requests->take(10), std::vector<std::size_t>{}) << "half a line is no request";
  EXPECT_FALSE(requests->ended());
  tell(", 10]]}\n{\"items\": []}\n{\"items\": [[0, 1]]}\n");
  EXPECT_EQ(*requests->take(10), (std::vector<std::size_t>{3, 4, 9, 0}));
  hang_up();
  EXPECT_EQ(*requests->take(10), std::vector<std::size_t>{});
  EXPECT_TRUE(requests->ended());
}

TEST_F(ChunkRequestsOfAPipe, RefuseWhatThePlanDoesNotHave) {
  tell("{}\n");
  auto requests = ChunkRequests::open(ends_[0]);
  ASSERT_TRUE(requests);
  for (const char* wrong :
       {R"({"items": [[0, 11]]})", R"({"items": [[2, 1]]})", R"({"items": [3]})",
        R"({"items": [[-1, 1]]})", R"({"items": [["0", "1"]]})", R"({})", "[]", "rm -rf /",
        R"({"items": [[0, 18446744073709551615]]})"}) {
    tell(std::string(wrong) + "\n");
    const auto items = requests->take(10);
    ASSERT_FALSE(items) << wrong;
    EXPECT_NE(items.error().message.find(std::string(wrong).substr(0, 20)), std::string::npos)
        << items.error().message;
  }
}

TEST_F(ChunkRequestsOfAPipe, NeedAFirstLine) {
  tell("[1]\n");
  const auto wrong = ChunkRequests::open(ends_[0]);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "found [1] on standard input, expected an object that says which run it is");
  hang_up();
  EXPECT_FALSE(ChunkRequests::open(ends_[0]));
}

}  // namespace
}  // namespace lockstep
