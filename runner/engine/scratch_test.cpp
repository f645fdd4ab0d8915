#include "engine/scratch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

namespace lockstep {
namespace {
namespace fs = std::filesystem;

TEST(ScratchTest, RemovesWhatKilledRunsLeftAndItself) {
  fs::path left, used, own;
  {
    const auto scratch = Scratch::create();
    own = scratch->path();
    // Its process is there, but it is another one, which was given the same number.
    left = own.parent_path() / fmt::format("lockstep-{}-abcdef", ::getpid());
    fs::create_directory(left);
    // No such process, since numbers end at 2^22: that of a container that shares the directory.
    used = own.parent_path() / "lockstep-999999999-abcdef";
    fs::create_directory(used);
    const int lock = ::open(used.c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_EQ(::flock(lock, LOCK_EX), 0);
    const auto next = Scratch::create();
    EXPECT_FALSE(fs::exists(left));
    EXPECT_TRUE(fs::exists(used));
    EXPECT_TRUE(fs::exists(own));
    ::close(lock);
    const auto last = Scratch::create();
    EXPECT_FALSE(fs::exists(used));
  }
  EXPECT_FALSE(fs::exists(own));
}

}  // namespace
}  // namespace lockstep
