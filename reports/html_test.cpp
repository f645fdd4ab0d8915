#include "reports/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "base/json.h"
#include "record/tally.h"
#include "reports/fixtures.h"
#include "reports/html/assets.h"
#include "reports/json.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t result = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    ++result;
  return result;
}

/// What the browser hands to JSON.parse.
Json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from), nullptr, false);
}

TEST(Html, ItsDataIsRunJson) {
  const RunRecord record = sample_run();
  Json data = data_of(html(record));
  EXPECT_EQ(data["statuses"].size(), all_statuses().size());
  EXPECT_EQ(data["standings"].size(), all_standings().size());
  EXPECT_EQ(data["kinds"].size(), all_columns().size());
  EXPECT_EQ(data["grades"], grade_names());
  for (const char* table :
       {"statuses", "standings", "kinds", "grades", "input_kinds", "judged_too_little"})
    data.erase(table);
  // What verdicts share is put back as the page does.
  for (Json& verdict : data["verdicts"]) {
    if (!verdict.contains("common")) continue;
    const Json references = verdict["common"];
    verdict.erase("common");
    for (const auto& [key, place] : references.items())
      verdict[key] = data["common"][place.get<std::size_t>()];
  }
  data.erase("common");
  // The order of a verdict's keys is not told.
  EXPECT_EQ(nlohmann::json(data), nlohmann::json(run_document(record)));
}

TEST(Html, NeedsNothingFromElsewhere) {
  const std::string page = html(sample_run());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));
  EXPECT_THAT(page, Not(HasSubstr("href=\"http")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
}

TEST(Html, ShowsTotalsAndFailuresWithoutScripts) {
  const std::string page = html(sample_run());
  const std::string plain = page.substr(page.find("<div id=\"plain\">"));
  EXPECT_THAT(plain, HasSubstr("25 verdicts: 2 conform, 16 failing"));
  EXPECT_THAT(plain, HasSubstr("<th scope=\"row\">inductor</th>"));
  EXPECT_THAT(plain, HasSubstr("<code>bugs/170005-loop@cpu/inductor</code>"));
}

TEST(Html, NothingBreaksOut) {
  const std::string page = html(hostile_run(), SIZE_MAX);
  const Json data = data_of(page);
  ASSERT_TRUE(data.is_object());
  EXPECT_THAT(data["verdicts"][0]["reason"].get<std::string>(),
              HasSubstr("</script><script>alert(1)</script>"));
  const std::string quiet = html(RunRecord{});
  for (const char* markup : {"<script", "</script", "<!--", "<img", "<style", "<div"}) {
    EXPECT_EQ(count(page, markup), count(quiet, markup)) << markup;
  }
}

TEST(Html, AssetsCannotEndTheirElements) {
  EXPECT_EQ(count(html_assets::script, "</script"), 0u);
  EXPECT_EQ(count(html_assets::style, "</style"), 0u);
  EXPECT_THAT(std::string(html_assets::page), HasSubstr("{{data}}"));
}

}  // namespace
}  // namespace lockstep
