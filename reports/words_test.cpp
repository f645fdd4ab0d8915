#include "reports/words.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/fixtures.h"
#include "plan/filter.h"
#include "reports/html.h"
#include "reports/json.h"
#include "reports/junit.h"
#include "reports/marks.h"

namespace lockstep {
namespace {

// LOCKSTEP_RENEW=1 writes it.
TEST(Words, TheFileIsWhatTheTablesSay) {
  const char* file = "reports/words.json";
  const std::string expected = words_document().dump(1) + "\n";
  expect_copy(file, expected, read_source(file), expected);
}

TEST(Words, NoNameIsTwiceInATable) {
  const Json words = words_document();
  for (const auto& [name, rows] : words.items()) {
    std::set<std::string> names;
    for (const Json& row : rows)
      EXPECT_TRUE(
          names.insert(row.is_object() ? row["name"].get<std::string>() : row.dump()).second)
          << name << " " << row.dump();
    EXPECT_FALSE(names.empty()) << name;
  }
}

// A status is a row: no report has to be told of it.
TEST(Words, EveryStatusIsInEveryReport) {
  for (const StatusInfo& status : all_statuses()) {
    RunRecord record;
    Verdict& verdict = record.verdicts.emplace_back();
    verdict.facts.id = "bugs/1@cpu/a";
    verdict.facts.instance = "bugs/1@cpu";
    verdict.facts.path = "a";
    verdict.facts.device = "cpu";
    verdict.found.status = status.status;
    record.info.planned = 1;
    const std::string name(status.name), label(status.label);
    EXPECT_NE(html(record).find(fmt::format("\"values\":[\"{}\"]", name)), std::string::npos)
        << name;
    EXPECT_NE(run_document(record).dump().find(name), std::string::npos) << name;
    EXPECT_EQ(
        junit(record, false).find(fmt::format("<{}", name_of(status.junit))) != std::string::npos,
        status.junit != JunitElement::pass)
        << name;
    EXPECT_TRUE(Filter::parse({"status:" + name})) << name;
    EXPECT_EQ(verdict_from_json(to_json(verdict)), verdict) << name;
  }
}

TEST(Marks, AreThoseOfTheVerdict) {
  Verdict verdict;
  EXPECT_TRUE(marks_of(verdict).empty());
  verdict.found.unstable = true;
  verdict.found.weak = "of the sign of zero";
  verdict.found.front_end = true;
  verdict.found.foreign_fraction = 0.5;
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(marks_of(verdict), (Names{"weak", "partly", "unstable", "front-end"}));
  verdict.found.status = Status::fell_back;  // which says so of all of it
  EXPECT_EQ(marks_of(verdict), (Names{"weak", "unstable", "front-end"}));
  verdict = {};
  verdict.found.never_asked = true;
  EXPECT_TRUE(marks_of(verdict).empty());
  verdict.found.compiled_error = RaisedError{};
  EXPECT_EQ(marks_of(verdict), Names{"unjudged"});
  verdict = {};
  verdict.found.permitted_fraction = 0.75;
  EXPECT_EQ(marks_of(verdict), Names{"unjudged"});
  verdict.found.status = Status::refused;  // which is not judged anyway
  EXPECT_TRUE(marks_of(verdict).empty());
}

}  // namespace
}  // namespace lockstep
