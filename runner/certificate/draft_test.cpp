#include "certificate/draft.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

void add_to(RunRecord& run, const std::string& id, std::vector<std::string> operators,
            std::vector<std::string> dtypes, Status status) {
  Verdict& verdict = run.verdicts.emplace_back();
  verdict.facts.id = id;
  verdict.facts.operators = std::move(operators);
  verdict.facts.dtypes = std::move(dtypes);
  verdict.found.status = status;
  if (status == Status::refused) verdict.found.compiled_error = RaisedError{};
  if (status == Status::refused) verdict.found.compiled_error->class_name = "vendor.NoRule";
}

TEST(Draft, GroupsWhatIsAlwaysRefused) {
  RunRecord run;
  for (const char* op : {"aten::sort", "aten::topk"}) {
    add_to(run, op, {op}, {"float32"}, Status::refused);
    add_to(run, op, {op}, {"float16"}, Status::refused);
  }
  add_to(run, "exp", {"aten::exp"}, {"float32"}, Status::conform);
  add_to(run, "exp16", {"aten::exp"}, {"float16"}, Status::refused);
  // By one of its operators.
  add_to(run, "both", {"aten::exp", "aten::sort"}, {"float32"}, Status::refused);
  EXPECT_EQ(draft_declarations(run), Json::parse(R"({
    "unsupported": [
      {"operators": ["aten::sort", "aten::topk"], "reason": ""},
      {"operators": ["aten::exp"], "dtypes": ["float16"], "reason": ""}],
    "refuses": [], "left": []})"));
}

TEST(Draft, LeavesToRulesOfErrorsWhatNoOperatorTells) {
  RunRecord run;
  add_to(run, "one", {"aten::exp"}, {"float32"}, Status::conform);
  add_to(run, "other", {"aten::exp"}, {"float32"}, Status::refused);
  add_to(run, "lacking", {"aten::exp"}, {"float32"}, Status::unsupported);
  run.verdicts.back().found.unsupported_by = UnsupportedBy::path;
  // A compiler that fails has failed.
  add_to(run, "broken", {"aten::mm"}, {"float32"}, Status::internal_error);
  const Json draft = draft_declarations(run);
  EXPECT_EQ(draft["unsupported"], Json::array());
  EXPECT_EQ(draft["refuses"], Json::parse(R"([{"error": "vendor.NoRule", "reason": ""}])"));
  EXPECT_EQ(draft["left"], Json::parse(R"(["lacking"])"));
}

}  // namespace
}  // namespace lockstep
