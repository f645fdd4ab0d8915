#include "shrink/shrink.h"

#include <gmock/gmock.h>

#include "base/files.h"
#include "base/text.h"
#include "cases/write.h"
#include "explain/fake_torch.h"
#include "shrink/candidates.h"
#include "shrink/tidy.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kLong = R"(
  "inputs": {"x": {"dtype": "float32", "shape": [8, 6], "fill": {"normal": {}, "seed": 3}},
             "z": {"dtype": "float32", "shape": [8, 6], "fill": "arange"}},
  "steps": [{"let": "a", "op": "aten::neg.default", "args": ["%x"]},
            {"let": "b", "op": "aten::add.Tensor", "args": ["%a", "%z"]},
            {"let": "h", "op": "aten::to.dtype", "args": ["%b", {"dtype": "float16"}]},
            {"let": "y", "op": "aten::to.dtype", "args": ["%h", {"dtype": "float32"}]},
            {"let": "c", "op": "aten::add.Tensor", "args": ["%y", "%z"]},
            {"let": "d", "op": "aten::relu.default", "args": ["%c"]},
            {"let": "e", "op": "aten::mul.Tensor", "args": ["%z", "%z"]}],
  "outputs": ["y", "d", "e"], "compare": {"y": "bits", "d": "bits"})";

class Shrinking : public OnFakeTorch {
 protected:
  Shrunk shrink(const std::string& text, Journal& journal, double seconds = 60,
                bool same_operators = false) {
    ShrinkRequest request;
    request.id = "bugs/1@cpu/inductor";
    request.declared = decode(text);
    request.path = path("inductor", "inductor");
    request.torch = "2.13.0";
    request.same_operators = same_operators;
    Trials all = trials(seconds);
    return lockstep::shrink(request, all, journal);
  }
};

TEST_F(Shrinking, LeavesTheStepsAndTheElementThatItTakes) {
  torch_.fuses_casts = true;
  Journal journal({});
  const Shrunk shrunk = shrink(kLong, journal);
  ASSERT_TRUE(shrunk.diverges) << shrunk.first.found.reason;
  EXPECT_TRUE(shrunk.complete);
  EXPECT_EQ(step_count(shrunk.declared.program), 2U) << case_text(shrunk.declared);
  EXPECT_EQ(element_count(shrunk.declared), 1) << case_text(shrunk.declared);
  EXPECT_EQ(shrunk.verdict.found.status, Status::value_diverges);
  EXPECT_TRUE(decode(case_text(shrunk.declared)
                         .substr(case_text(shrunk.declared).find("\"inputs\""),
                                 case_text(shrunk.declared).rfind('}') -
                                     case_text(shrunk.declared).find("\"inputs\""))));
}

TEST_F(Shrinking, GivesTheSameCaseEachTimeAndKnowsItsCandidatesAgain) {
  torch_.wrong_operator = "aten::relu.default";
  const std::string text = R"(
    "inputs": {"x": {"dtype": "float32", "values": [1, 2, 3, 4]}},
    "steps": [{"let": "a", "op": "aten::neg.default", "args": ["%x"]},
              {"let": "b", "op": "aten::relu.default", "args": ["%a"]},
              {"let": "c", "op": "aten::add.Tensor", "args": ["%b", "%x"]}],
    "outputs": ["c"])";
  const std::filesystem::path file = scratch_.path() / "journal.txt";
  Journal empty(file);
  const Shrunk one = shrink(text, empty);
  EXPECT_EQ(one.remembered, 0U);
  Journal full(file);
  EXPECT_EQ(full.size(), empty.size());
  const Shrunk other = shrink(text, full);
  EXPECT_EQ(case_text(one.declared), case_text(other.declared));
  EXPECT_EQ(other.remembered, other.candidates);
  EXPECT_THAT(one.declared.operators, ElementsAre("aten::relu.default"));
}

TEST_F(Shrinking, TakesNothingThatDivergesInCompanyAlone) {
  torch_.wrong_operator = "aten::relu.default";
  torch_.wrong_in_company = "aten::neg.default";
  Journal journal({});
  const Shrunk shrunk = shrink(R"(
    "inputs": {"x": {"dtype": "float32", "values": [1, 2, 3, 4]}},
    "steps": [{"let": "a", "op": "aten::neg.default", "args": ["%x"]},
              {"let": "c", "op": "aten::add.Tensor", "args": ["%a", "%x"]},
              {"let": "d", "op": "aten::relu.default", "args": ["%c"]},
              {"let": "e", "op": "aten::neg.default", "args": ["%a"]}],
    "outputs": ["d", "e"])",
                               journal);
  EXPECT_TRUE(shrunk.complete);
  EXPECT_THAT(shrunk.declared.operators, ElementsAre("aten::relu.default"))
      << case_text(shrunk.declared);
  EXPECT_EQ(shrunk.verdict.found.status, Status::value_diverges);
}

TEST_F(Shrinking, KeepsTheAccusedOperatorsWhereItIsAsked) {
  torch_.wrong_operator = "aten::clone.default";
  torch_.wrong_when_fused = "aten::relu.default";
  const std::string text = R"(
    "inputs": {"x": {"dtype": "float32", "values": [1, 2, 3, 4]}},
    "steps": [{"let": "a", "op": "aten::relu.default", "args": ["%x"]},
              {"let": "b", "op": "aten::clone.default", "args": ["%a"]}],
    "outputs": ["b"])";
  for (const bool same : {false, true}) {
    Journal journal({});
    const Shrunk shrunk = shrink(text, journal, 60, same);
    EXPECT_EQ(contains(shrunk.declared.operators, "aten::relu.default"), same)
        << case_text(shrunk.declared);
  }
}

TEST_F(Shrinking, LeavesDtypesThatPeopleWouldWriteFirst) {
  torch_.wrong_operator = "aten::relu.default";
  Journal journal({});
  const Shrunk shrunk = shrink(R"(
    "inputs": {"x": {"dtype": "float64", "values": [1, 2, 3, 4]}},
    "steps": [{"let": "b", "op": "aten::relu.default", "args": ["%x"]}],
    "outputs": ["b"])",
                               journal);
  const auto& spec = std::get<TensorSpec>(shrunk.declared.calls[0].inputs[0].value);
  EXPECT_EQ(spec.dtype->name, "float32") << case_text(shrunk.declared);
}

TEST_F(Shrinking, OffersPlainerDtypesAndArguments) {
  const char* text = R"(
    "inputs": {"x": {"dtype": "int8", "values": [-1, 2]}, "z": {"dtype": "int8", "values": [3, 4]}},
    "steps": [{"let": "y", "op": "aten::add.Tensor", "args": ["%x", "%z", 12]},
              {"let": "w", "op": "aten::mul.Scalar", "args": ["%y", 0.123456]},
              {"let": "h", "op": "aten::to.dtype", "args": ["%w", {"dtype": "int8"}]}],
    "outputs": ["h"])";
  const auto whole = decode(text);
  const std::vector<Case> plainer = plainer_dtypes(*whole);
  ASSERT_EQ(plainer.size(), 4U) << "all of int8, the inputs, each of the two";
  EXPECT_NE(plainer[0].program, whole->program);
  EXPECT_EQ(plainer[1].program, whole->program);
  const auto& x = std::get<TensorSpec>(plainer[0].calls[0].inputs[0].value);
  EXPECT_EQ(x.dtype->name, "int64");
  EXPECT_EQ(std::get<LiteralFill>(x.fill).elements[0].low, ~std::uint64_t{0}) << "-1";
  EXPECT_TRUE(plainer_dtypes(*decode(std::string(text) + R"(, "compare": {"h": "bits"})")).empty());
  const auto has = [&](const std::string& arguments) {
    const std::vector<Case> fewer = fewer_arguments(*whole);
    return std::any_of(fewer.begin(), fewer.end(), [&](const Case& each) {
      return case_text(each).find(arguments) != std::string::npos;
    });
  };
  EXPECT_TRUE(has(R"(["%x", "%z"])"));
  EXPECT_TRUE(has(R"(["%x", "%z", 1])"));
  EXPECT_TRUE(has(R"(["%y", 0.12])"));
  EXPECT_FALSE(has(R"(["%y", 0.1235])"));
}

TEST_F(Shrinking, OfWhatConformsIsNothing) {
  Journal journal({});
  const Shrunk shrunk = shrink(kLong, journal);
  EXPECT_FALSE(shrunk.diverges);
  EXPECT_EQ(shrunk.candidates, 0U);
}

TEST_F(Shrinking, KeepsAnErrorThatEagerAloneRaises) {
  torch_.raising_operator = "aten::relu.default";
  Journal journal({});
  const Shrunk shrunk = shrink(R"(
    "inputs": {"x": {"dtype": "float32", "values": [1, 2, 3, 4]}},
    "steps": [{"let": "a", "op": "aten::neg.default", "args": ["%x"]},
              {"let": "b", "op": "aten::relu.default", "args": ["%a"]},
              {"let": "c", "op": "aten::add.Tensor", "args": ["%b", "%x"]}],
    "outputs": ["c"], "raises": {"class": "RuntimeError"})",
                               journal);
  EXPECT_EQ(shrunk.verdict.found.status, Status::validation_lost);
  EXPECT_THAT(shrunk.declared.operators, ElementsAre("aten::relu.default"))
      << case_text(shrunk.declared);
}

TEST_F(Shrinking, StopsWhenTimeIsUpWithWhatItHas) {
  torch_.fuses_casts = true;
  Journal journal({});
  const Shrunk shrunk = shrink(kLong, journal, 0);
  EXPECT_FALSE(shrunk.diverges);
  EXPECT_FALSE(shrunk.complete);
}

TEST_F(Shrinking, TidyingTakesWhatNothingHangsOn) {
  Case whole = *decode(kLong);
  whole.program.outputs = returning({"e"});
  ASSERT_TRUE(tidy(whole, nullptr));
  EXPECT_EQ(step_count(whole.program), 1U);
  EXPECT_THAT(whole.program.inputs, ElementsAre("z"));
  EXPECT_EQ(whole.calls[0].inputs.size(), 1U);
  EXPECT_TRUE(whole.compare.empty());
  whole.program.outputs = returning({"z"});
  EXPECT_FALSE(tidy(whole, nullptr)) << "nothing is left to execute";
}

TEST_F(Shrinking, TidyingKeepsStepsThatTheProgramHasThoughNobodyUsesThem) {
  const auto whole = decode(R"(
    "inputs": {"x": {"dtype": "float32", "values": [1, 2]}, "u": {"dtype": "float32", "values": [1, 2]}},
    "steps": [{"let": "a", "op": "aten::neg.default", "args": ["%u"]},
              {"let": null, "op": "aten::relu.default", "args": ["%a"]},
              {"let": "b", "op": "aten::neg.default", "args": ["%x"]},
              {"let": "y", "op": "aten::relu.default", "args": ["%x"]}],
    "outputs": ["y", "b", "y", 3])");
  Case tidied = *whole;
  tidied.program.outputs = returning({"y"});
  ASSERT_TRUE(tidy(tidied, nullptr));
  EXPECT_EQ(step_count(tidied.program), 3U) << "neg of x is gone";
  EXPECT_THAT(tidied.program.inputs, ElementsAre("x", "u"));
  const std::vector<Case> cut = cut_steps(tidied, {});
  EXPECT_TRUE(std::any_of(cut.begin(), cut.end(), [](const Case& each) {
    return step_count(each.program) == 2;
  })) << "but it is tried without it";
  EXPECT_EQ(fewer_outputs(*whole).size(), 4U + 2U) << "each alone, and two beginnings";
}

TEST_F(Shrinking, TriesWithoutWhatIsCarriedAndWithoutContextsOfCalls) {
  const auto whole = decode(R"(
    "inputs": {"x": {"dtype": "float32", "values": [1, 2]}},
    "calls": [{}, {"context": {"grad": false}}],
    "steps": [{"let": "y", "op": "aten::neg.default", "args": ["%x"]}],
    "outputs": ["y"], "carry": {"x": "y"})");
  const std::vector<Case> simpler = simpler_settings(*whole, false);
  ASSERT_EQ(simpler.size(), 2U);
  EXPECT_TRUE(simpler[0].program.carry.empty());
  EXPECT_EQ(simpler[1].calls[1].context, Context());
  EXPECT_FALSE(simpler[1].program.carry.empty());
  EXPECT_TRUE(simpler_settings(*whole, true)[0].program.carry.empty()) << "of one call";
}

TEST_F(Shrinking, TriesAContextWithoutEachThingThatItSays) {
  const auto whole = decode(R"(
    "inputs": {"x": {"dtype": "float32", "values": [1, 2]}},
    "context": {"thread": true, "grad": false},
    "steps": [{"let": "y", "op": "aten::neg.default", "args": ["%x"]}],
    "outputs": ["y"])");
  const std::vector<Case> simpler = simpler_settings(*whole, false);
  ASSERT_EQ(simpler.size(), 3U);
  EXPECT_EQ(simpler[0].program.context, Context());
  EXPECT_FALSE(simpler[1].program.context.thread);
  EXPECT_EQ(simpler[1].program.context.grad, false);
  EXPECT_TRUE(simpler[2].program.context.thread);
  EXPECT_EQ(simpler[2].program.context.grad, std::nullopt);
}

TEST_F(Shrinking, AJournalPassesOverWhatIsNotWhole) {
  const std::filesystem::path file = scratch_.path() / "journal.txt";
  ASSERT_TRUE(write_file(file, "0123 conform.\nabcd value_diverges:value.\nffff value_dif"));
  const Journal journal(file);
  EXPECT_EQ(journal.size(), 2U);
  EXPECT_EQ(journal.find("abcd"), "value_diverges:value");
  EXPECT_EQ(journal.find("ffff"), std::nullopt);
}

TEST_F(Shrinking, CutsAroundTheWorstElement) {
  const auto whole = decode(R"(
    "inputs": {"x": {"dtype": "float32", "values": [[1, 2, 3], [4, 5, 6]]}},
    "steps": [{"let": "y", "op": "aten::neg.default", "args": ["%x"]}],
    "outputs": ["y"])");
  const std::vector<Case> cut = narrowed(*whole, {1, 2});
  ASSERT_FALSE(cut.empty());
  const auto& spec = std::get<TensorSpec>(cut.front().calls[0].inputs[0].value);
  EXPECT_THAT(spec.shape, ElementsAre(2, 1));
  EXPECT_EQ(std::get<LiteralFill>(spec.fill).elements[1].low, 0x40c00000U) << "6.0f";
}

}  // namespace
}  // namespace lockstep
