#include "record/fingerprints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// A run of three layers and verdicts of one operator each.
struct ThreeLayers {
  RunRecord record;

  ThreeLayers() {
    for (const auto& [name, above] :
         {std::pair("inductor", "eager"), std::pair("eager", ""), std::pair("mine", "eager")}) {
      PathInfo path{name, "", ""};
      path.declared["above"] = *above == 0 ? nlohmann::ordered_json() : above;
      record.info.paths.push_back(path);
    }
    record.verdicts.reserve(100);
  }
  Verdict& add(const std::string& instance, const std::string& path, const std::string& op,
               const std::string& dtype, std::int64_t elements) {
    Verdict& verdict = record.verdicts.emplace_back();
    verdict.facts.instance = instance + "@cpu";
    verdict.facts.path = path;
    verdict.facts.id = verdict.facts.instance + "/" + path;
    verdict.facts.operators = {"aten::" + op};
    verdict.facts.dtypes = {dtype};
    verdict.found.status = elements == 0 ? Status::conform : Status::value_diverges;
    OutputComparison& output = verdict.found.outputs.emplace_back();
    output.name = "y";
    output.status = verdict.found.status;
    output.type = dtype + "[4]";
    output.elements = elements;
    output.classes.last_bits = elements;
    output.grade = elements == 0 ? Grade::bits : elements > 9 ? Grade::close : Grade::ulp4;
    verdict.found.grade = output.grade;
    if (elements > 0) verdict.found.differences = {{verdict.found.status, "y", ""}};
    return verdict;
  }
};

std::vector<std::string> names_of(const std::vector<FingerprintGroup>& groups) {
  std::vector<std::string> names;
  for (const FingerprintGroup& group : groups) names.push_back(group.name);
  return names;
}

TEST(FingerprintGroups, AreInTheOrderOfWhatFails) {
  ThreeLayers run;
  for (const char* dtype : {"float16", "float32", "float64"}) {
    Verdict& known = run.add(std::string("b[dtype=") + dtype + "]", "inductor", "known", dtype, 3);
    known.account.standing = Standing::known;
  }
  run.add("c", "inductor", "one", "float32", 3);
  run.add("d", "inductor", "two", "float32", 30).found.nearer = Nearer::eager;
  run.add("e[dtype=float16]", "mine", "two", "float16", 3).found.nearer = Nearer::eager;
  run.add("f", "mine", "three", "float16", 0);
  const std::vector<FingerprintGroup> groups = fingerprint_groups(run.record, false);
  ASSERT_THAT(names_of(groups), ElementsAre("two:value", "one:value", "known:value"));
  EXPECT_EQ(groups[0].failing, 2U);
  EXPECT_THAT(groups[0].dtypes, ElementsAre("float16", "float32"));
  EXPECT_THAT(groups[0].paths, ElementsAre("inductor", "mine"));
  EXPECT_THAT(groups[0].nearer, ElementsAre(Pair(Nearer::eager, 2)));
  EXPECT_EQ(groups[0].grade, Grade::close);
  EXPECT_EQ(groups[0].example->facts.id, "e[dtype=float16]@cpu/mine");  // of fewer elements
  EXPECT_EQ(groups[2].failing, 0U);
  EXPECT_EQ(groups[2].verdicts.size(), 3U);
}

TEST(FingerprintGroups, BeginOnTheLowestLayerThatHasTheFingerprint) {
  ThreeLayers run;
  run.add("a", "eager", "f", "float32", 3);
  run.add("a", "inductor", "f", "float32", 3);
  run.add("b", "eager", "g", "float32", 0);
  run.add("b", "inductor", "g", "float32", 3);
  run.add("c", "inductor", "h", "float32", 3);  // eager was not asked
  const std::vector<FingerprintGroup> groups = fingerprint_groups(run.record, false);
  ASSERT_THAT(names_of(groups), ElementsAre("f:value", "g:value", "h:value"));
  EXPECT_THAT(groups[0].begins, ElementsAre("eager"));
  EXPECT_THAT(groups[0].paths, ElementsAre("eager", "inductor"));
  EXPECT_THAT(groups[1].begins, ElementsAre("inductor"));
  EXPECT_THAT(groups[2].begins, IsEmpty());
}

// A layer below may diverge for another reason: that is where the other fingerprint begins.
TEST(FingerprintGroups, EachFingerprintHasABeginningOfItsOwn) {
  ThreeLayers run;
  run.add("a", "eager", "f", "float32", 3);
  run.add("a", "inductor", "f", "float32", 3).found.outputs.front().classes = {.nan = 3,
                                                                               .eager_nan = 3};
  const std::vector<FingerprintGroup> groups = fingerprint_groups(run.record, false);
  ASSERT_THAT(names_of(groups), ElementsAre("f:eager-nan", "f:value"));
  EXPECT_THAT(groups[0].begins, ElementsAre("inductor"));
  EXPECT_THAT(groups[1].begins, ElementsAre("eager"));
}

}  // namespace
}  // namespace lockstep
