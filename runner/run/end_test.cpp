#include "run/end.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "run/scratch.h"

namespace lockstep {
namespace {

Observation raised(const std::string& message) {
  auto scratch = Scratch::create();
  EXPECT_TRUE(scratch);
  const Json error = {{"stage", "compile"},
                      {"class", "CppCompileError"},
                      {"message", message},
                      {"wrapped", {"BackendCompilerFailed"}},
                      {"kind", "internal"}};
  const Json text = {
      {"outcome", "raised"},   {"runs", Json::array()},    {"storages", Json::array()},
      {"reference", nullptr},  {"error", error},           {"reason", nullptr},
      {"stage", "compile"},    {"proof", {{"graphs", 1}}}, {"phases", Json::object()},
      {"peak_memory_bytes", 1}};
  EXPECT_TRUE(write_file(scratch->path() / "observation.json", text.dump()));
  End end;
  end.out = scratch->path();
  return observe_end(end);
}

TEST(End, AnErrorForWantOfSpaceIsNotTheCompilers) {
  const Observation seen = raised(
      "C++ compile error\nOutput:\nfatal error: cannot write /x: No space left on device\nstop");
  EXPECT_EQ(seen.outcome, Outcome::lost);
  EXPECT_NE(seen.reason.find("fatal error: cannot write /x: No space left on device"),
            std::string::npos)
      << seen.reason;
  EXPECT_EQ(seen.reason.find("stop"), std::string::npos) << seen.reason;
  EXPECT_EQ(raised("No space left on device").outcome, Outcome::lost);
}

TEST(End, EveryOtherErrorStaysWhatItIs) {
  const Observation seen = raised("C++ compile error");
  EXPECT_EQ(seen.outcome, Outcome::raised);
  EXPECT_EQ(seen.reason, "");
  EXPECT_EQ(raised("std::bad_alloc").outcome, Outcome::out_of_memory);
}

}  // namespace
}  // namespace lockstep
