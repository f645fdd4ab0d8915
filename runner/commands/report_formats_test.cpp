#include "commands/report_formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/fixtures.h"

namespace lockstep {
namespace {

/// The options of `report` with an argument for every format's flag.
Options with_every_flag() {
  std::vector<std::string> words = {"lockstep", "report"};
  for (const ReportFormat& format : report_formats()) {
    words.emplace_back(format.flag);
    words.push_back(fmt::format("file-of{}", format.flag));
  }
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

TEST(ReportFormats, EveryFlagHasAPlaceOfItsOwn) {
  const Options options = with_every_flag();
  EXPECT_EQ(options.text, "");
  std::set<std::string> files;
  for (const ReportFormat& format : report_formats()) {
    EXPECT_EQ(options.*format.file, fmt::format("file-of{}", format.flag));
    for (const std::string& file : format.files) EXPECT_TRUE(files.insert(file).second) << file;
  }
}

TEST(ReportFormats, EachIsMadeOfARunThatHasNothing) {
  for (const ReportFormat& format : report_formats()) {
    for (const bool strict : {false, true})
      EXPECT_NE(format.make(RunRecord{}, strict, "x.json"), "") << format.flag;
  }
}

TEST(ReportFormats, TheReadmeHasTheTable) {
  std::vector<std::string> rows;
  for (const ReportFormat& format : report_formats()) {
    rows.push_back(fmt::format("| `{}` | {} | {} |", format.flag,
                               fmt::format("`{}`", fmt::join(format.files, "`, `")), format.help));
  }
  expect_table("README.md", "| flag | in the run's directory | |", rows);
}

}  // namespace
}  // namespace lockstep
