#include "reports/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "reports/fixtures.h"
#include "reports/html.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Verdict swept(const std::string& name, const std::string& dtype, const std::string& path,
              std::int64_t differing, std::vector<Accuracy> accuracy) {
  Verdict verdict;
  verdict.facts.id = "sweeps/" + name + "@cpu/" + path;
  verdict.facts.path = path;
  verdict.facts.tags = {"sweep"};
  verdict.facts.operators = {name};
  verdict.facts.dtypes = {dtype};
  OutputComparison& output = verdict.found.outputs.emplace_back();
  output.name = "y";
  output.type = dtype + "[65536]";
  output.elements = 65536;
  output.differing = differing;
  output.accuracy = std::move(accuracy);
  return verdict;
}

RunRecord sweep_run() {
  RunRecord record;
  record.verdicts = {swept("aten::tan", "bfloat16", "inductor", 1030,
                           {{"normal", 65000, 0.5, 2.25}, {"special", 536, 0, HUGE_VAL}}),
                     swept("aten::sin", "float16", "inductor", 3, {{"normal", 65536, 0.51, 0.51}}),
                     swept("aten::sin", "float16", "inductor", 7,
                           {{"normal", 60000, 0.5, 1.5}, {"subnormal", 5536, 0.25, 0.75}}),
                     swept("aten::sin", "float16", "aot_eager", 0, {{"normal", 65536, 0.51, 0.51}}),
                     swept("aten::isnan", "float16", "inductor", 0, {})};
  // Its forward pass is no row: the case above has it.
  Verdict& backward = record.verdicts.emplace_back(record.verdicts[1]);
  backward.found.outputs.push_back(backward.found.outputs.front());
  backward.found.outputs.back().name = "grad x";
  backward.found.outputs.front().accuracy = {{"normal", 65536, 9, 9}};
  for (const char* name : {"aten::lgamma", "aten::erfinv", "aten::erfinv"}) {
    Verdict& verdict = record.verdicts.emplace_back(swept(name, "float8_e5m2", "inductor", 0, {}));
    verdict.found.status = Status::unsupported;
    verdict.found.reason = "not implemented for 'Float8_e5m2'";
  }
  Verdict& other = record.verdicts.emplace_back(swept("aten::i0", "int8", "inductor", 0, {}));
  other.found.status = Status::unsupported;
  other.found.reason = "other";
  record.verdicts.emplace_back(other).facts.tags = {};  // no sweep
  return record;
}

TEST(AccuracyTable, TheWorstInstanceCounts) {
  const AccuracyTable table = accuracy_table(sweep_run());
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.rows[0].path, "aot_eager");
  const AccuracyRow& row = table.rows[1];
  EXPECT_EQ(row.name, "aten::sin");
  EXPECT_EQ(row.dtype, "float16");
  EXPECT_EQ(row.path, "inductor");
  EXPECT_EQ(row.elements, 2 * 65536);
  EXPECT_EQ(row.differing, 10);
  EXPECT_THAT(row.kinds, ElementsAre(Accuracy{"normal", 125536, 0.51, 1.5},
                                     Accuracy{"subnormal", 5536, 0.25, 0.75}, Accuracy{}));
  EXPECT_EQ(table.rows[2].name, "aten::sin (gradient)");
  ASSERT_EQ(table.not_swept.size(), 2u);
  EXPECT_EQ(table.not_swept[0].reason, "not implemented for 'Float8_e5m2'");
  EXPECT_THAT(table.not_swept[0].names, ElementsAre("aten::erfinv", "aten::lgamma"));
  EXPECT_THAT(table.not_swept[1].names, ElementsAre("aten::i0"));
}

TEST(AccuracyTable, ConversionsAreRowsOnlyWhereTheyRoundWrong) {
  RunRecord record;
  record.verdicts = {swept("aten::to.dtype", "float16", "inductor", 0, {{"normal", 9, 0.5, 0.5}})};
  record.verdicts[0].facts.dtypes = {"float32"};
  EXPECT_THAT(accuracy_table(record).rows, IsEmpty());
  record.verdicts[0].found.outputs[0].accuracy[0].compiled = 1;
  const AccuracyTable table = accuracy_table(record);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].dtype, "float32 -> float16");
}

TEST(AccuracyTable, ItsTextIsItsGolden) {
  expect_golden("sweep.accuracy.txt", accuracy_text(accuracy_table(sweep_run())));
}

TEST(AccuracyTable, ItsJsonIsItsGoldenAndTheDocument) {
  const AccuracyTable table = accuracy_table(sweep_run());
  const std::string text = accuracy_json(table);
  expect_golden("sweep.accuracy.json", text);
  EXPECT_EQ(Json::parse(text), accuracy_document(table));
  EXPECT_EQ(Json::parse(accuracy_json({})), accuracy_document({}));
}

TEST(AccuracyTable, ARunWithoutPointwiseCasesHasNone) {
  EXPECT_THAT(accuracy_table(sample_run()).rows, IsEmpty());
  EXPECT_THAT(html(sample_run()), Not(HasSubstr("\"accuracy\":{")));
  EXPECT_THAT(html(sweep_run()), HasSubstr("\"accuracy\":{\"format\":1,\"rows\":[{\"name\":\""));
}

TEST(AccuracyTable, HostileTextIsCleanAndStaysJson) {
  const AccuracyTable table = accuracy_table(hostile_run());
  ASSERT_FALSE(table.rows.empty());
  EXPECT_THAT(accuracy_text(table), Not(HasSubstr("\x1b")));
  EXPECT_TRUE(Json::parse(accuracy_json(table), nullptr, false).is_object());
}

}  // namespace
}  // namespace lockstep
