#include "commands/errors.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace lockstep {
namespace {

Exit too_much(ReadingMemory&) {
  std::deque<std::string> taken;
  while (true) taken.emplace_back(std::size_t{1} << 16, 'x');
}

/// As a destructor does that allocates, on the way down or not.
Exit too_much_where_nothing_may_throw(ReadingMemory& memory) noexcept { return too_much(memory); }

TEST(WhileReading, SaysThatMemoryEndedEvenWhereNothingMayThrow) {
  if (!ReadingMemory().holds()) GTEST_SKIP() << "a sanitizer's own memory would count";
  ::setenv("LOCKSTEP_READING_MIB", "128", 1);
  const char* said = "takes more than 128 MiB of memory.*\n.*LOCKSTEP_READING_MIB=512";
  const auto exits = testing::ExitedWithCode(static_cast<int>(Exit::usage));
  EXPECT_EXIT(std::_Exit(static_cast<int>(while_reading(too_much))), exits, said);
  EXPECT_EXIT(while_reading(too_much_where_nothing_may_throw), exits, said);
  ::unsetenv("LOCKSTEP_READING_MIB");
}

}  // namespace
}  // namespace lockstep
