#include "requests/report_formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/fixtures.h"
#include "requests/decode.h"

namespace lockstep {
namespace {

TEST(ReportFormats, EveryFlagHasAPlaceOfItsOwn) {
  std::vector<std::string> words = {"run"};
  for (const ReportFormat& format : report_formats()) {
    words.emplace_back(format.flag);
    words.push_back(fmt::format("file-of{}", format.flag));
  }
  const auto request = decode_run(words, "/");
  ASSERT_TRUE(request) << request.error().message;
  std::set<std::string> files;
  for (const ReportFormat& format : report_formats()) {
    EXPECT_EQ(request->reporting.files.at(format.flag), fmt::format("file-of{}", format.flag));
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
  expect_table("docs/release/ci.md", "| flag | in the run's directory | |", rows);
}

}  // namespace
}  // namespace lockstep
