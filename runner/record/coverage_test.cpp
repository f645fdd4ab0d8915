#include "record/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json overload(const std::string& name, const std::string& returns, std::vector<std::string> tags) {
  return {{"overload", name},
          {"tags", std::move(tags)},
          {"arguments", Json::array({{{"name", "self"},
                                      {"type", "Tensor"},
                                      {"kwarg_only", false},
                                      {"has_default", false},
                                      {"mutates", false}}})},
          {"returns", Json::array({{{"type", returns}}})}};
}

/// sin and sum are core; aten::item is none that a rule can call, abs is for a GPU alone.
Registry operators_to_cover() {
  Json for_gpu = overload("", "Tensor", {});
  for_gpu["cpu"] = false;
  return *Registry::from_json(
      {{"torch", "2.0"},
       {"operators_digest", "f"},
       {"operators",
        {{"aten::sin", {overload("", "Tensor", {"core"})}},
         {"aten::sum", {overload("", "Tensor", {}), overload("dim", "Tensor", {"core"})}},
         {"aten::item", {overload("", "Scalar", {})}},
         {"aten::to_sparse", {overload("", "Tensor", {})}},
         {"aten::abs", {for_gpu}},
         {"prims::sin", {overload("", "Tensor", {})}}}}});
}

Verdict verdict(Status status, std::vector<std::string> uses) {
  Verdict made;
  made.facts.instance = "ops/sin@cpu";
  made.facts.path = "inductor";
  made.found.status = status;
  made.facts.operators = {"aten::sin.default"};
  made.origin.uses = std::move(uses);
  return made;
}

const CoveredOverload& of(const Coverage& coverage, const std::string& name) {
  return coverage.overloads().at(name);
}

TEST(Coverage, CountsWhatWasExecutedAndComparedWhateverTheVerdict) {
  for (const StatusInfo& status : all_statuses()) {
    Coverage coverage(operators_to_cover());
    coverage.add(verdict(status.status, {"aten::sin.default float32:contiguous"}));
    const CoveredOverload& sin = of(coverage, "aten::sin.default");
    EXPECT_EQ(sin.is_judged(), status.judged() && !status.crashed()) << status.name;
    EXPECT_EQ(sin.is_judged("inductor"), sin.is_judged());
    EXPECT_FALSE(sin.is_judged("aot_eager"));
    EXPECT_EQ(sin.why_not(), sin.is_judged() ? "no case of this run calls it" : status.label);
  }
}

TEST(Coverage, NeedsMoreThanAName) {
  Coverage coverage(operators_to_cover());
  coverage.add(verdict(Status::conform, {}));
  EXPECT_FALSE(of(coverage, "aten::sin.default").is_judged());
  EXPECT_EQ(of(coverage, "aten::sin.default").why_not(),
            "a case names it, but eager did not say that it called it");
  // Another's code executed all of it: the path's was not judged.
  Verdict fell_back = verdict(Status::conform, {"aten::sin.default"});
  fell_back.found.foreign_fraction = 1;
  coverage.add(fell_back);
  coverage.add(fell_back);
  EXPECT_EQ(of(coverage, "aten::sin.default").why_not(), "the path's own code did not execute it");
  Verdict lacks = verdict(Status::unsupported, {});
  lacks.found.unsupported_by = UnsupportedBy::reference;
  for (int i = 0; i < 3; ++i) coverage.add(lacks);
  EXPECT_EQ(of(coverage, "aten::sin.default").why_not("inductor"), "eager does not return");
  EXPECT_EQ(of(coverage, "aten::sin.default").why_not("aot_eager"), "no case of this run calls it");
}

TEST(Coverage, TellsDtypesLayoutsArgumentsAndInstances) {
  Coverage coverage(operators_to_cover());
  for (const char* use : {"aten::sum.dim float32:contiguous dim=[1] keepdim=True",
                          "aten::sum.dim float16:expanded+offset dim=[0]", "prims::sin.default",
                          "aten::nothing.default float32:contiguous", ""})
    coverage.add(verdict(Status::value_diverges, {use}));
  const CoveredOverload& sum = of(coverage, "aten::sum.dim");
  EXPECT_THAT(sum.dtypes, ElementsAre("float16", "float32"));
  EXPECT_THAT(sum.layouts, ElementsAre("contiguous", "expanded+offset"));
  EXPECT_THAT(sum.arguments, ElementsAre("dim=[0]", "dim=[1]", "keepdim=True"));
  EXPECT_THAT(sum.instances, ElementsAre("ops/sin@cpu"));
  EXPECT_EQ(sum.judged.at("inductor"), 2U);
  EXPECT_FALSE(of(coverage, "aten::sum.default").is_judged());
}

TEST(Coverage, OfThoseThatNoCaseCanCallTheReasonIsSaid) {
  const Coverage coverage(operators_to_cover());
  EXPECT_EQ(of(coverage, "aten::item.default").apart, "returns no tensor, or not only tensors");
  EXPECT_EQ(of(coverage, "aten::abs.default").apart, "no kernel for the CPU");
  EXPECT_EQ(of(coverage, "aten::to_sparse.default").apart, "sparse tensors");
  EXPECT_EQ(of(coverage, "aten::sin.default").apart, "");
}

TEST(Coverage, CountsOnEachPathAndOnAny) {
  Coverage coverage(operators_to_cover());
  coverage.add(verdict(Status::conform, {"aten::sin.default"}));
  Verdict refused = verdict(Status::refused, {});
  refused.facts.path = "aot_eager";
  coverage.add(refused);
  const std::vector<CoverageCount> counts = coverage.counts();
  const CoverageGap uncalled{"no case of this run calls it", 1, {"aten::sum.dim"}};
  ASSERT_EQ(counts.size(), 6U);
  EXPECT_EQ(counts[0], (CoverageCount{"core", "", 1, 2, {uncalled}}));
  EXPECT_EQ(counts[1].judged, 1U);
  EXPECT_EQ(counts[1].all, 3U);
  EXPECT_EQ(counts[2],
            (CoverageCount{
                "core",
                "aot_eager",
                0,
                2,
                {uncalled, {std::string(info(Status::refused).label), 1, {"aten::sin.default"}}}}));
  EXPECT_EQ(counts[4].path, "inductor");
  RunRecord record;
  record.end = RunEnd{};
  record.end->coverage = counts;
  EXPECT_EQ(run_end_from_json(to_json(*record.end))->coverage, counts);
  EXPECT_EQ(coverage_line(record), "");
  record.info.level = "core";
  EXPECT_EQ(coverage_line(record),
            "1 of 2 core overloads (50.0 %) and 1 of 3 functional ones (33.3 %)");
  const std::string text = coverage_text(coverage, true);
  EXPECT_THAT(text, HasSubstr("inductor   1 of 2 (50.0 %)"));
  EXPECT_THAT(text, HasSubstr("      1  no kernel for the CPU\n"));
  EXPECT_THAT(text, HasSubstr("         sum.dim\n"));
}

TEST(Coverage, OfTorchsOwnTestsOneOverloadIsEnough) {
  Coverage coverage(operators_to_cover());
  coverage.add(verdict(Status::conform, {"aten::sum.dim"}));
  Verdict function = verdict(Status::conform, {});
  function.facts.operators = {"torch.nn.functional.softsign"};
  coverage.add(function);
  function.found.status = Status::refused;
  function.facts.operators = {"torch.su"};
  coverage.add(function);
  const CoverageCount count =
      coverage.count({{"sum", {"aten::sum"}},
                      {"nn.functional.sine", {"aten::sin", "aten::sine"}},
                      {"nn.functional.softsign", {"torch.nn.functional.softsign"}},
                      {"su", {"aten::su", "torch.su"}}});
  EXPECT_EQ(count.judged, 2U);
  EXPECT_EQ(count.all, 4U);
  ASSERT_EQ(count.gaps.size(), 1U);
  EXPECT_THAT(count.gaps[0].names, ElementsAre("nn.functional.sine", "su"));
}

TEST(Coverage, AGapThatIsLongHasNoNames) {
  Json many = Json::object();
  for (int i = 0; i < 65; ++i)
    many["aten::f" + std::to_string(i)] = Json::array({overload("", "Tensor", {"core"})});
  const Coverage coverage(
      *Registry::from_json({{"torch", "2.0"}, {"operators_digest", "f"}, {"operators", many}}));
  EXPECT_EQ(coverage.counts()[0].gaps[0].count, 65U);
  EXPECT_TRUE(coverage.counts()[0].gaps[0].names.empty());
}

}  // namespace
}  // namespace lockstep
