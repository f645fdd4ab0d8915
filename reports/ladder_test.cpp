#include "reports/ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

RunRecord run_of(const std::vector<std::pair<std::string, std::string>>& paths) {
  RunRecord record;
  for (const auto& [name, above] : paths) {
    PathInfo path{name, "", ""};
    path.declared["above"] =
        above.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(above);
    record.info.paths.push_back(path);
  }
  return record;
}

void add(RunRecord& record, const std::string& instance, const std::string& path, Status status) {
  Verdict& verdict = record.verdicts.emplace_back();
  verdict.facts.instance = instance;
  verdict.facts.path = path;
  verdict.found.status = status;
}

RunRecord three_layers() {
  RunRecord record =
      run_of({{"eager-python", ""}, {"eager", "eager-python"}, {"inductor", "eager"}});
  for (const char* path : {"eager-python", "eager", "inductor"})
    add(record, "bugs/fine@cpu", path, Status::conform);
  add(record, "bugs/1@cpu", "eager-python", Status::conform);
  add(record, "bugs/1@cpu", "eager", Status::value_diverges);
  add(record, "bugs/1@cpu", "inductor", Status::value_diverges);
  add(record, "bugs/2@cpu", "eager-python", Status::conform);
  add(record, "bugs/2@cpu", "eager", Status::refused);
  add(record, "bugs/2@cpu", "inductor", Status::metadata_diverges);
  return record;
}

TEST(LadderText, ShowsEachLayerAndMarksTheFirstThatDiverges) {
  EXPECT_EQ(ladder_text(three_layers(), Style(false), false),
            "the ladder, lowest layer first; 2 instances diverge on some layer:\n"
            "     1  eager-python  -\n"
            "     2  eager         1 first\n"
            "     3  inductor      1 first\n"
            "\n"
            "     1  2  3   ● diverges first, x diverges, · conforms, \" conforms by the code of "
            "the layer "
            "below, ? not judged\n"
            "     ·  ●  x   bugs/1@cpu  eager: value diverges\n"
            "     ·  ?  ●   bugs/2@cpu  inductor: metadata diverges\n"
            "\n");
}

TEST(LadderText, IsSilentWhereNothingDivergesOrTheLowestLayerIsMissing) {
  RunRecord record = run_of({{"eager-python", ""}, {"eager", "eager-python"}});
  add(record, "bugs/1@cpu", "eager", Status::conform);
  EXPECT_EQ(ladder_text(record, Style(false), true), "");
  record = run_of({{"inductor", "eager"}, {"inductor-dynamic", "inductor"}});
  add(record, "bugs/1@cpu", "inductor", Status::value_diverges);
  EXPECT_EQ(ladder_text(record, Style(false), true), "");
}

TEST(LadderText, OfManyInstancesTheFirstFiftyAreShown) {
  RunRecord record = run_of({{"eager-python", ""}, {"eager", "eager-python"}});
  for (int i = 0; i < 52; ++i)
    add(record, std::to_string(i) + "@cpu", "eager", Status::value_diverges);
  const std::string few = ladder_text(record, Style(false), false);
  EXPECT_THAT(few, HasSubstr("   49@cpu  "));
  EXPECT_THAT(few, Not(HasSubstr("   50@cpu  ")));
  EXPECT_THAT(few, HasSubstr("and 2 more: ci/lockstep report --ladder"));
  EXPECT_THAT(ladder_text(record, Style(false), true), HasSubstr("   51@cpu  "));
}

TEST(LadderText, NothingBreaksOut) {
  RunRecord record = run_of({{"\x1b[31m", ""}, {"eager", "\x1b[31m"}});
  add(record, "a\n\x1b[2J@cpu", "eager", Status::value_diverges);
  EXPECT_THAT(ladder_text(record, Style(false), false), Not(HasSubstr("\x1b")));
}

TEST(LadderJson, NamesTheLayersAndWhereEachInstanceBegins) {
  const nlohmann::ordered_json json = ladder_json(three_layers());
  EXPECT_EQ(json["layers"].dump(), R"([{"path":"eager-python","above":null,"first":0},)"
                                   R"({"path":"eager","above":"eager-python","first":1},)"
                                   R"({"path":"inductor","above":"eager","first":1}])");
  EXPECT_EQ(json["diverging"].dump(),
            R"({"bugs/1@cpu":{"first":["eager"],"unknown":[]},)"
            R"("bugs/2@cpu":{"first":["inductor"],"unknown":["eager"]}})");
}

}  // namespace
}  // namespace lockstep
