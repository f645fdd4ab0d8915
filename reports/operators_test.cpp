#include "reports/operators.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

void add(RunRecord& record, Status status, std::vector<std::string> operators,
         std::vector<std::string> dtypes,
         std::optional<UnsupportedBy> unsupported_by = std::nullopt) {
  Verdict& verdict = record.verdicts.emplace_back();
  verdict.found.status = status;
  verdict.facts.path = "mine";
  verdict.facts.operators = std::move(operators);
  verdict.facts.dtypes = std::move(dtypes);
  verdict.found.unsupported_by = unsupported_by;
}

RunRecord record_of_some() {
  RunRecord record;
  add(record, Status::conform, {"aten::add.Tensor"}, {"float32"});
  add(record, Status::conform, {"aten::mul.Tensor", "aten::sin"}, {"float16"});
  add(record, Status::value_diverges, {"aten::mul.Tensor"}, {"float16"});
  add(record, Status::unsupported, {"aten::add.Tensor"}, {"float32"}, UnsupportedBy::declaration);
  add(record, Status::refused, {"aten::sort"}, {});
  return record;
}

TEST(Operators, AreCountedByDtypeWhatFailsFirst) {
  EXPECT_EQ(operators_text(record_of_some(), Style(false), false),
            "  50.0 %      1 of     2  aten::mul.Tensor  float16  mine\n"
            " 100.0 %      1 of     1  aten::add.Tensor  float32  mine  1 declared\n"
            " 100.0 %      1 of     1  aten::sin  float16  mine\n"
            "       –      0 of     0  aten::sort  none  mine\n");
}

TEST(Operators, OfARunAreInItsDocument) {
  const auto rows = operators_json(record_of_some(), true);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["operator"], "aten::mul.Tensor");
  EXPECT_EQ(rows[0]["conform"], 1);
  EXPECT_EQ(rows[0]["judged"], 2);
  EXPECT_EQ(rows[1]["operator"], "aten::sort") << "a refusal fails with --strict";
  EXPECT_EQ(rows[1]["failing"], 1);
}

TEST(Operators, OfAProgramThatDivergesOnlyTheAccusedOnesCount) {
  RunRecord record;
  add(record, Status::value_diverges, {"aten::ones", "aten::acosh"}, {"float32"});
  const auto both = operator_conformance(record, false);
  EXPECT_EQ(both[0].judged, 1U) << "nobody knows which of two: the fingerprint names both";
  record.verdicts[0].account.explained = {{"operators", {"acosh"}}};
  for (const OperatorConformance& row : operator_conformance(record, false)) {
    const bool guilty = row.name == "aten::acosh";
    EXPECT_EQ(row.judged, guilty ? 1U : 0U) << row.name;
    EXPECT_EQ(row.beside, guilty ? 0U : 1U) << row.name;
  }
}

TEST(Operators, NothingRoundsUpToAll) {
  RunRecord record;
  for (int i = 0; i < 9999; ++i) add(record, Status::conform, {"aten::sin"}, {"float32"});
  add(record, Status::value_diverges, {"aten::sin"}, {"float32"});
  EXPECT_NE(operators_text(record, Style(false), false).find(" 99.9 %"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
