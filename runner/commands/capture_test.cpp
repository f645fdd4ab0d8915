#include "commands/capture.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace lockstep {
namespace {

std::optional<std::size_t> place(std::vector<std::string> words) { return program_in(words); }

TEST(Capture, TheProgramOfCaptureIsItsFirstPositionalWord) {
  EXPECT_EQ(place({"capture", "model.py"}), 1U);
  EXPECT_EQ(place({"capture", "--out", "DIR", "model.py", "--layers", "2"}), 3U);
  EXPECT_EQ(place({"capture", "--exact-values", "model.py"}), 2U);
  EXPECT_EQ(place({"capture", "--out=DIR", "--", "model.py"}), 3U);
  EXPECT_EQ(place({"capture"}), std::nullopt);
  EXPECT_EQ(place({"capture", "--"}), std::nullopt);
}

TEST(Capture, OtherCommandsTakeAProgramThatIsAPythonFile) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "lockstep-capture-test.py";
  std::ofstream(file) << "pass\n";
  EXPECT_EQ(place({"explain", "--seconds", "5", file.string(), "bugs/*"}), 3U);
  EXPECT_EQ(place({"run", "--path", "inductor", file.string()}), 3U);
  EXPECT_EQ(place({"explain", "--to", file.string()}), std::nullopt) << "the value of an option";
  EXPECT_EQ(place({"list", file.string()}), std::nullopt) << "takes no programs";
  std::filesystem::remove(file);
  EXPECT_EQ(place({"explain", file.string()}), std::nullopt) << "there is no such file";
}

}  // namespace
}  // namespace lockstep
