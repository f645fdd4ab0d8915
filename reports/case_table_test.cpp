#include "reports/case_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/fixtures.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

Verdict verdict(const std::string& file, const std::string& path, Status status) {
  Verdict result;
  result.facts.case_file = "cases/bugs/" + file + ".json";
  result.facts.instance = "bugs/" + file + "@cpu";
  result.facts.id = result.facts.instance + "/" + path;
  result.facts.path = path;
  result.facts.title = "a title";
  result.found.status = status;
  return result;
}

TEST(CaseTable, IsItsGolden) { expect_golden("sample.cases.md", case_table(sample_run())); }

TEST(CaseTable, TheFirstPathOfTheLadderThatDepartsIsNamed) {
  RunRecord record;
  record.verdicts = {verdict("9-last", "inductor", Status::value_differs),
                     verdict("9-last", "aot_eager", Status::crash),
                     verdict("9-last", "eager", Status::refused),
                     verdict("10-first", "inductor-dynamic", Status::value_differs),
                     verdict("11-none", "inductor", Status::conform),
                     verdict("12-between", "inductor", Status::value_differs),
                     verdict("12-between", "aot_eager_decomp", Status::value_differs)};
  const std::string text = case_table(record);
  EXPECT_THAT(text, HasSubstr("| aot\\_eager | crash (new): aot\\_eager"));
  EXPECT_THAT(text, HasSubstr("| inductor-dynamic |"));
  EXPECT_THAT(text, HasSubstr("| aot\\_eager\\_decomp |"));
  EXPECT_THAT(text, HasSubstr("| – | conforms |"));
  EXPECT_THAT(text, HasSubstr("4 cases, of which 3 depart"));
}

TEST(CaseTable, CasesAreSortedByNumberWhateverTheOrderOfTheVerdicts) {
  RunRecord record;
  record.verdicts = {verdict("100-b", "inductor", Status::value_differs),
                     verdict("20-a", "inductor", Status::conform),
                     verdict("20-a", "eager", Status::timeout)};
  const std::string text = case_table(record);
  EXPECT_LT(text.find("20-a"), text.find("100-b"));
  std::reverse(record.verdicts.begin(), record.verdicts.end());
  EXPECT_EQ(case_table(record), text);
}

TEST(CaseTable, InstancesThatPartFromTheOthersAreCounted) {
  RunRecord record;
  record.verdicts = {verdict("1-a", "inductor", Status::conform),
                     verdict("1-a", "inductor", Status::value_differs)};
  EXPECT_THAT(case_table(record), HasSubstr("inductor 1 of 2"));
}

TEST(CaseTable, APathThatIsUnsupportedEverywhereIsNamedOnce) {
  RunRecord record;
  record.verdicts = {verdict("1-a", "inductor", Status::conform),
                     verdict("1-a", "strict", Status::unsupported),
                     verdict("2-b", "inductor", Status::unsupported)};
  const std::string text = case_table(record);
  EXPECT_THAT(text, HasSubstr("on the paths inductor. It has none of strict."));
  EXPECT_THAT(text, HasSubstr("| – | conforms |"));
  EXPECT_THAT(text, HasSubstr("| – | unsupported: inductor |"));
}

TEST(CaseTable, HostileTextStaysText) {
  const std::string text = case_table(hostile_run());
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace lockstep
