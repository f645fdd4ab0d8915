#include "verdict/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockstep {
namespace {

Verdict full() {
  Verdict verdict;
  verdict.facts.id = "bugs/1@cpu/inductor";
  verdict.facts.instance = "bugs/1@cpu";
  verdict.facts.path = "inductor";
  verdict.facts.device = "cpu";
  verdict.facts.title = "a \"title\" with |Δ|";
  verdict.facts.case_file = "cases/bugs/1.json";
  verdict.facts.case_line = 12;
  verdict.facts.index = 99;
  verdict.found.status = Status::value_diverges;
  verdict.found.grade = Grade::same1e3;
  verdict.found.reason = "y: …";
  verdict.found.nearer = Nearer::compiled;
  OutputComparison output;
  output.name = "y";
  output.policy = "any_of(close, no_worse(1))";
  output.status = Status::nonfinite_diverges;
  output.reason = "why";
  output.type = "float32[4, 5]";
  output.grade = Grade::none;
  output.elements = std::int64_t{1} << 40;
  output.differing = 17;
  output.max_abs = 0.1;
  output.max_rel = std::numeric_limits<double>::infinity();
  output.max_ulp = std::numeric_limits<std::uint64_t>::max();
  output.worst = {1, 3};
  output.eager = "nan";
  output.compiled = "-0.0";
  output.vacuous = true;
  output.weak = "only the sign of zero differs";
  output.checks = {
      {"close", Quantity::outside, 3, 0, false},
      {"no_worse(1)", Quantity::error, std::numeric_limits<double>::infinity(), 0.5, true}};
  output.grading = {{"ulp(4)", Quantity::ulp, 2, 4, true}};
  output.heat = HeatMap{1, 2, {0, 3}, {0, std::numeric_limits<double>::infinity()}};
  output.classes = {1, 2, 3, 4, 5, 6};
  output.first = {{{0, 7}, {"x = nan (0x7fc00000)", "k = 3 (0x03)"}, "nan", "1.5"}, {}};
  output.ulp_histogram = {3, 0, 12};
  output.error_curve = {{"x", {-1, 0.5}, {0.5, HUGE_VAL}, {}}};
  output.accuracy = {{"normal", 60, 0.5, 1.25},
                     {"special", 3, 0, std::numeric_limits<double>::infinity()}};
  output.tensors = {"tensors/bugs/1@cpu/inductor/y.eager.npy"};
  verdict.found.outputs = {output, OutputComparison{}};
  verdict.found.differences = {{Status::metadata_diverges, "y", "strides", 0},
                               {Status::value_diverges, "y", "17 of 20", 2}};
  verdict.found.warnings = Warnings{2, {"UserWarning: lost"}, {"UserWarning: added"}};
  verdict.found.weak = "y: why";
  verdict.found.front_end = true;
  verdict.found.unsupported_by = UnsupportedBy::declaration;
  verdict.origin.shared = 24;
  verdict.facts.threads = 2;
  verdict.found.unstable = verdict.found.vacuous = true;
  verdict.found.executions = {{Status::conform, 2}, {Status::crash, 1}};
  verdict.found.execution = Witness::observed;
  verdict.found.foreign_fraction = 0.25;
  verdict.found.through_aot = true;
  verdict.found.eager_digest = "0123456789abcdef";
  verdict.found.eager_error =
      RaisedError{"eager", "RuntimeError", "boom\nmore", {"A", "B"}, ErrorKind::error};
  verdict.found.compiled_error =
      RaisedError{"compile", "InductorError", "", {}, ErrorKind::internal};
  verdict.found.stage = "run";
  verdict.found.proof = {{"graphs", 1}, {"fallbacks", {"aten::sort"}}};
  verdict.origin.phases = {{"compile", 1.25}, {"run", 1e-300}};
  verdict.origin.reused = "2026-11-21T10:00:00Z";
  verdict.origin.seconds = 0.1 + 0.2;
  verdict.origin.peak_memory_bytes = 310000000;
  verdict.origin.stderr_tail = "warning\n";
  verdict.account.standing = Standing::known;
  verdict.account.expectation = ExpectationRef{"expected/known/a.json:12", Status::value_diverges,
                                               Because::bug, "why", "https://example.org/1"};
  verdict.facts.links = {"https://example.org/2"};
  verdict.facts.unverified = "Nobody here has the device.";
  verdict.origin.repro = "lockstep run 'x'";
  return verdict;
}

TEST(Verdict, EveryFieldSurvivesTheRoundTrip) {
  for (const Verdict& verdict : {full(), Verdict{}}) {
    const std::string text = to_json(verdict).dump();
    const auto read = verdict_from_json(nlohmann::ordered_json::parse(text));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, verdict);
    EXPECT_EQ(to_json(*read).dump(), text);
  }
}

TEST(Verdict, EveryFieldIsWritten) {
  // Leaving out any key of the full verdict must change what is read: no member is written and not
  // read.
  const auto json = to_json(full());
  for (const auto& [key, value] : json.items()) {
    auto less = json;
    less.erase(key);
    const auto read = verdict_from_json(less);
    EXPECT_TRUE(!read || !(*read == full())) << key;
  }
  EXPECT_EQ(json.size(), 41u);
}

TEST(Verdict, EveryFieldOfAnOutputIsWritten) {
  const auto json = to_json(full());
  for (const auto& [key, value] : json["outputs"][0].items()) {
    auto less = json;
    less["outputs"][0].erase(key);
    const auto read = verdict_from_json(less);
    EXPECT_TRUE(!read || !(*read == full())) << key;
  }
  EXPECT_EQ(json["outputs"][0]["accuracy"][1].dump(),
            R"({"inputs":"special","elements":3,"compiled":"inf"})");
  EXPECT_FALSE(json["outputs"][1].contains("classes"));
}

TEST(Verdict, WrongTypesAreErrorsWithAPointer) {
  const auto json = to_json(full());
  for (const auto& [key, value] : json.items()) {
    if (key == "proof") continue;  // anything that the worker gave
    auto wrong = json;
    wrong[key] = value.is_object() ? nlohmann::ordered_json(3) : nlohmann::ordered_json::object();
    if (key == "phases") wrong[key] = 3;
    const auto read = verdict_from_json(wrong);
    ASSERT_FALSE(read) << key;
    EXPECT_THAT(read.error().message, testing::HasSubstr("/" + key)) << key;
  }
  auto wrong = json;
  wrong["outputs"][0]["worst"][1] = "three";
  EXPECT_THAT(verdict_from_json(wrong).error().message, testing::HasSubstr("/outputs/0/worst/1"));
  wrong = json;
  wrong["case_line"] = 1e18;
  EXPECT_FALSE(verdict_from_json(wrong));
  wrong["case_line"] = std::int64_t{1} << 40;
  EXPECT_FALSE(verdict_from_json(wrong));
  EXPECT_FALSE(verdict_from_json(nlohmann::ordered_json::array()));
  EXPECT_FALSE(verdict_from_json(nlohmann::ordered_json::object()));
}

TEST(Verdict, BytesThatAreNoTextDoNotBreakTheLog) {
  Verdict verdict = full();
  verdict.origin.stderr_tail = "bad \xff byte";
  EXPECT_NO_THROW(static_cast<void>(to_json(verdict).dump()));
}

TEST(Verdict, FailsByStandingAndStatus) {
  Verdict verdict;
  EXPECT_FALSE(verdict.fails(true));
  verdict.found.status = Status::inconclusive;
  EXPECT_FALSE(verdict.fails(false));
  EXPECT_TRUE(verdict.fails(true));
  verdict.found.status = Status::crash;
  EXPECT_TRUE(verdict.fails(false));
  verdict.account.standing = Standing::known;
  EXPECT_FALSE(verdict.fails(true));
  verdict.account.standing = Standing::waived;
  EXPECT_FALSE(verdict.fails(true));
  verdict.account.standing = Standing::fixed;
  verdict.found.status = Status::conform;
  EXPECT_FALSE(verdict.fails(false));
  EXPECT_TRUE(verdict.fails(true));
}

TEST(Verdict, NamesAreFoundAgain) {
  for (const std::string& name : grade_names()) EXPECT_EQ(name_of(*find_grade(name)), name);
  for (const StandingInfo& standing : all_standings())
    EXPECT_EQ(find_standing(standing.name), standing.standing);
  EXPECT_EQ(name_of(Standing::new_), "new");
  EXPECT_FALSE(find_grade("bit"));
}

}  // namespace
}  // namespace lockstep
