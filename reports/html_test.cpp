#include "reports/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "record/log.h"
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
Json data_of(const std::string& page, const std::string& id = "data") {
  const std::string begin = "<script type=\"application/json\" id=\"" + id + "\">";
  const std::size_t at = page.find(begin);
  if (at == std::string::npos) return {};
  const std::size_t from = at + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from), nullptr, false);
}

/// The verdicts as the page puts them together, from the parts and the blocks.
Json verdicts_of(const std::string& page) {
  const Json data = data_of(page);
  Json verdicts = Json::array(), part = data;
  std::size_t parts = 0, from = 0;
  for (std::size_t number = 0; verdicts.size() < data["count"]; ++number) {
    const Json block = data_of(page, "block-" + std::to_string(number));
    if (block.is_null()) break;
    for (Json verdict : block["verdicts"]) {
      if (verdict.contains("common")) {
        const Json references = verdict["common"];
        verdict.erase("common");
        for (const auto& [key, place] : references.items())
          verdict[key] = block["common"][place.get<std::size_t>()];
      }
      if (verdicts.size() - from == data["parts"][parts]) {
        part = data_of(page, "part-" + std::to_string(++parts));
        from = verdicts.size();
      }
      for (const auto& [key, column] : part["columns"].items()) {
        const int place = column["places"][verdicts.size() - from];
        if (place >= 0) verdict[key] = column["values"][static_cast<std::size_t>(place)];
      }
      verdicts.push_back(std::move(verdict));
    }
  }
  return verdicts;
}

/// A run of more verdicts than a block has.
RunRecord long_run() {
  RunRecord record = sample_run();
  const std::vector<Verdict> few = record.verdicts;
  while (record.verdicts.size() < 600) {
    Verdict verdict = few[record.verdicts.size() % few.size()];
    verdict.facts.id += std::to_string(record.verdicts.size());
    record.verdicts.push_back(std::move(verdict));
  }
  return record;
}

TEST(Html, ItsDataIsRunJson) {
  for (const RunRecord& record : {sample_run(), long_run()}) {
    const std::string page = html(record, "", {SIZE_MAX});
    Json data = data_of(page);
    EXPECT_EQ(data["statuses"].size(), all_statuses().size());
    EXPECT_EQ(data["standings"].size(), all_standings().size());
    EXPECT_EQ(data["kinds"].size(), all_columns().size());
    EXPECT_EQ(data["grades"], grade_names());
    EXPECT_EQ(data["count"], record.verdicts.size());
    data["verdicts"] = verdicts_of(page);
    for (const char* table :
         {"statuses", "standings", "kinds", "marks", "grades", "input_kinds", "judged_too_little",
          "phases", "count", "block", "columns", "derived", "rates", "files", "parts", "totals",
          "fingerprint_counts", "slowest", "device"})
      data.erase(table);
    // The order of a verdict's keys is not told.
    EXPECT_EQ(nlohmann::json(data), nlohmann::json(run_document(record)));
  }
}

TEST(Html, ALongRunStandsInParts) {
  RunRecord record = large_run(4000);
  const std::string page = html(record, "", {SIZE_MAX, 1000});
  const Json data = data_of(page);
  // An instance has three verdicts, of which none is in another part.
  EXPECT_EQ(data["parts"], Json({999, 999, 999, 999, 4}));
  EXPECT_EQ(data["columns"]["id"]["places"].size(), 999u);
  EXPECT_EQ(data_of(page, "part-4")["columns"]["id"]["places"].size(), 4u);
  EXPECT_EQ(data_of(page, "part-5"), nullptr);
  // Nothing is lost.
  const Json verdicts = verdicts_of(page);
  std::map<std::string, nlohmann::json> ids;
  for (const Json& verdict : verdicts) ids.emplace(verdict["id"], verdict);
  ASSERT_EQ(ids.size(), 4000u);
  for (const Verdict& verdict : record.verdicts)
    EXPECT_EQ(ids.at(verdict.facts.id), nlohmann::json(verdict_document(verdict)));
  // What fails comes first, and no part has more of it than the one before.
  std::vector<std::size_t> failing(5);
  for (std::size_t place = 0; place < verdicts.size(); ++place)
    failing[place / 999] += verdicts[place]["status"] == "crash";
  EXPECT_GT(failing[0], 0u);
  EXPECT_TRUE(std::is_sorted(failing.rbegin(), failing.rend()));
  // Counts are of the whole run, however much of it is read.
  EXPECT_EQ(data["totals"], data_of(html(record, "", {SIZE_MAX}))["totals"]);
  std::size_t all = 0;
  for (const auto& [_, count] : data["totals"][0]["kind"].items()) all += count.get<std::size_t>();
  EXPECT_EQ(all, 4000u);
  EXPECT_EQ(data["slowest"].size(), 5u);
  // What says where an instance begins to diverge is in its part.
  std::size_t diverging = data["diverging"].size();
  for (int number = 1; number < 5; ++number)
    diverging += data_of(page, "part-" + std::to_string(number))["diverging"].size();
  EXPECT_EQ(diverging, run_frame(record)["diverging"].size());
}

// reports/test_page_parts.py opens it.
TEST(Html, WritesThePageInPartsOfThePythonTest) {
  const char* asked = std::getenv("LOCKSTEP_PAGE_OF");
  if (asked == nullptr) GTEST_SKIP() << "test_page_parts.py asks for it";
  const std::filesystem::path folder = asked;
  const Result<RunRecord> record = read_log(folder);
  ASSERT_TRUE(record) << record.error().message;
  const Result<void> written =
      write_file(folder / "parts.html", html(*record, folder / "parts.html", {SIZE_MAX, 9}));
  ASSERT_TRUE(written) << written.error().message;
}

// README.md links to it.
TEST(Html, ItNamesTheFilesOfItsRunFromWhereItIs) {
  RunRecord record = sample_run();
  record.directory = "/runs/a";
  const auto files = [&](const char* page) {
    return data_of(html(record, page, {SIZE_MAX}))["files"];
  };
  EXPECT_EQ(files("/runs/a/report.html"), ".");
  EXPECT_EQ(files("/pages/of b/report.html"), "../../runs/a");
  EXPECT_EQ(files("-"), nullptr) << "nobody knows where it will be";
}

TEST(Html, ThePageToLookAtIsCurrent) { expect_golden("sample.run.html", html(sample_run())); }

TEST(Html, NeedsNothingFromElsewhere) {
  const std::string page = html(sample_run());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));
  EXPECT_EQ(count(page, "href=\"http"), count(page, "<a href=\"http"));  // links need nothing
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
}

TEST(Html, ShowsTotalsAndFailuresWithoutScripts) {
  const std::string page = html(sample_run());
  const std::string plain = page.substr(page.find("<div id=\"plain\">"));
  EXPECT_THAT(plain, HasSubstr("26 verdicts: 2 conform, 17 failing"));
  EXPECT_THAT(plain, HasSubstr("<th scope=\"row\">inductor</th>"));
  EXPECT_THAT(plain, HasSubstr("<code>bugs/170005-loop@cpu/inductor</code>"));
  // What is known, too, with its reason and link; boxes hide what nobody wants to see.
  RunRecord record = sample_run();
  const auto known = std::find_if(
      record.verdicts.begin(), record.verdicts.end(),
      [](const Verdict& verdict) { return verdict.account.standing == Standing::known; });
  ASSERT_NE(known, record.verdicts.end());
  EXPECT_THAT(plain, HasSubstr("known <code>" + known->facts.id + "</code>"));
  EXPECT_THAT(plain, HasSubstr("<a href=\"" + known->account.expectation->link + "\">"));
  EXPECT_THAT(plain, HasSubstr("#show-known:not(:checked) ~ ul .show-known { display: none }"));
  // Of each kind so many that the page stays small.
  Verdict model = *known;
  model.facts.path = "aot_eager";
  for (int i = 0; i < 300; ++i) record.verdicts.push_back(model);
  const std::string many = html(record);
  EXPECT_THAT(many, HasSubstr("<li class=\"show-known\">and 101 more known</li>"));
  EXPECT_THAT(many, HasSubstr("<label for=\"show-path-1\">aot_eager</label>"));
  EXPECT_THAT(html(RunRecord{}), Not(HasSubstr("type=\"checkbox\" id=\"show-")));
}

TEST(Html, NothingBreaksOut) {
  const std::string page = html(hostile_run(), "", {SIZE_MAX});
  const Json verdicts = verdicts_of(page);
  ASSERT_FALSE(verdicts.empty());
  EXPECT_THAT(verdicts[0]["reason"].get<std::string>(),
              HasSubstr("</script><script>alert(1)</script>"));
  RunRecord nothing;  // no run, but as many blocks
  nothing.verdicts.resize(1);
  nothing.verdicts[0].found.status = Status::value_diverges;  // and a list of what fails
  const std::string quiet = html(nothing);
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
