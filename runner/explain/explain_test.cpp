#include "explain/explain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "explain/fake_torch.h"
#include "reports/explanation.h"

namespace lockstep {
namespace {

constexpr const char* kRoundTrip = R"(
  "inputs": {"x": {"dtype": "float32", "values": [1, 1.0001, 3]}},
  "steps": [{"let": "n", "op": "aten::neg.default", "args": ["%x"]},
            {"let": "h", "op": "aten::to.dtype", "args": ["%n", {"dtype": "float16"}]},
            {"let": "y", "op": "aten::to.dtype", "args": ["%h", {"dtype": "float32"}]}],
  "outputs": ["y"], "compare": {"y": "bits"})";

constexpr const char* kChain = R"(
  "inputs": {"x": {"dtype": "float32", "values": [1, -2, 3]}},
  "steps": [{"let": "a", "op": "aten::add.Tensor", "args": ["%x", "%x"]},
            {"let": "r", "op": "aten::relu.default", "args": ["%a"]},
            {"let": "y", "op": "aten::mul.Tensor", "args": ["%r", "%x"]}],
  "outputs": ["y"])";

class Explaining : public OnFakeTorch {
 protected:
  Explanation explain(const std::string& text, double seconds = 60) {
    return explain(decode(text), nullptr, seconds);
  }

  Explanation explain(std::shared_ptr<const Case> declared, const Registry* registry,
                      double seconds = 60) {
    ExplainRequest request;
    request.id = "bugs/1@cpu/inductor";
    request.declared = std::move(declared);
    request.registry = registry;
    request.layers = {path("low", "low"), path("inductor", "inductor")};
    request.layers[1].above = "low";
    request.layers[1].declared["above"] = "low";
    Knob casts, other, later;
    casts.name = "emulate_precision_casts";
    casts.config = {{"torch._inductor.config.emulate_precision_casts", true}};
    other.name = "freezing";
    other.config = {{"torch._inductor.config.freezing", true}};
    later.name = "numerics=strict";
    later.torch = ">=2.14";
    later.config = {{"torch._inductor.config.numerics", "strict"}};
    for (Knob* knob : {&casts, &other, &later}) {
      knob->backends = {"inductor"};
      request.table.knobs.push_back(*knob);
    }
    request.torch = "2.13.0";
    request.threads = 2;
    Trials all = trials(seconds);
    return lockstep::explain(request, all);
  }

  static std::vector<std::string> guilty(const Explanation& explanation) {
    std::vector<std::string> names;
    for (const std::size_t at : explanation.guilty) names.push_back(explanation.steps[at].name);
    return names;
  }
};

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(Explaining, NamesTheFusedPairAndTheCast) {
  torch_.fuses_casts = true;
  const Explanation found = explain(kRoundTrip);
  EXPECT_EQ(found.status, "value_diverges") << found.reason;
  EXPECT_EQ(found.observing, "stays");
  EXPECT_EQ(found.how, How::fused);
  EXPECT_THAT(guilty(found), ElementsAre("h", "y"));
  EXPECT_EQ(found.cast, "compiled keeps float32 where eager rounds to float16 after step h");
  EXPECT_EQ(found.steps[1].value, "same") << "h is rounded where it is returned";
  EXPECT_EQ(found.steps[2].explained, "no");
  EXPECT_EQ(found.steps[2].alone, "conform");
  EXPECT_THAT(found.steps[2].at, ElementsAre(1));
  EXPECT_EQ(found.steps[2].eager, "-1.0");
  EXPECT_EQ(found.steps[2].compiled, "-1.0001");
  EXPECT_THAT(found.agrees_with_eager, ElementsAre("stepwise"));
  EXPECT_THAT(found.agrees_with_compiled, ElementsAre("fp64"));
  EXPECT_THAT(found.open, IsEmpty());
}

TEST_F(Explaining, NamesTheLineOfTheAccusedSteps) {
  torch_.fuses_casts = true;
  std::string text = kRoundTrip;
  const std::string step = R"({"let": "h",)";
  ASSERT_NE(text.find(step), std::string::npos);
  text.replace(text.find(step), step.size(),
               step + R"("source": {"file": "net.py", "line": 8, "name": "Net.forward"},)");
  const Explanation found = explain(text);
  EXPECT_THAT(guilty(found), ElementsAre("h", "y"));
  EXPECT_EQ(found.steps[1].source, "net.py:8 in Net.forward");
  EXPECT_EQ(found.steps[2].source, "");
  EXPECT_EQ(to_json(found)["steps"][1]["source"], "net.py:8 in Net.forward");
  const std::string printed = explanation_text(found, Style(false));
  EXPECT_THAT(printed, HasSubstr("\nsource    net.py:8 in Net.forward\n"));
  EXPECT_THAT(printed, HasSubstr("alone    source\n"));
  EXPECT_THAT(explanation_text(explain(kRoundTrip), Style(false)), Not(HasSubstr("source")));
}

TEST_F(Explaining, TriesTheKnobsThatThereAre) {
  torch_.fuses_casts = true;
  const Explanation found = explain(kRoundTrip);
  ASSERT_EQ(found.knobs.size(), 3U);
  EXPECT_TRUE(found.knobs[0].ends);
  EXPECT_FALSE(found.knobs[1].ends);
  EXPECT_EQ(found.knobs[1].status, "value_diverges");
  EXPECT_THAT(found.knobs[2].why, HasSubstr("needs torch >=2.14"));
  EXPECT_THAT(found.sentence, HasSubstr("; ends with emulate_precision_casts;"));
}

TEST_F(Explaining, CompilesTheBackwardOnlyWhereItMatters) {
  torch_.fuses_casts = true;
  std::string text = kRoundTrip;
  const std::string values = R"("values": [1, 1.0001, 3])";
  text.replace(text.find(values), values.size(), values + R"(, "requires_grad": true)");
  const Explanation found = explain(text + R"(, "backward": {"of": ["y"], "with": "ones"})");
  EXPECT_THAT(guilty(found), ElementsAre("h", "y"));
  EXPECT_TRUE(found.knobs[0].ends);
  EXPECT_EQ(found.knobs[0].status, "conform");
  EXPECT_FALSE(found.knobs[1].ends);
  EXPECT_EQ(torch_.backwards, 5U)
      << "down the ladder, without the cache, with one thread, and with what ends it";
}

TEST_F(Explaining, SaysThatItTakesTheThreadsOfTheRun) {
  torch_.wrong_with_threads = true;
  EXPECT_THAT(explain(kRoundTrip).conditions, ElementsAre("2 threads"));
  torch_.wrong_with_threads = false;
  torch_.first_is_wrong = true;
  EXPECT_THAT(explain(kRoundTrip).conditions, IsEmpty());
}

TEST_F(Explaining, SaysWhichValueEndsItWhenItIsSeen) {
  torch_.fuses_casts = torch_.seeing_ends_it = true;
  const Explanation found = explain(kRoundTrip);
  EXPECT_EQ(found.observing, "vanishes");
  EXPECT_THAT(found.ended_by, ElementsAre("h"));
}

TEST_F(Explaining, NamesTheOperatorThatDivergesByItselfAndTheLowestLayer) {
  torch_.wrong_operator = "aten::relu.default";
  const Explanation found = explain(kChain);
  EXPECT_EQ(found.layer, "low");
  EXPECT_EQ(found.layer_title, "The path low");
  EXPECT_EQ(found.how, How::alone);
  EXPECT_THAT(guilty(found), ElementsAre("r"));
  EXPECT_EQ(found.steps[0].explained, "yes");
  EXPECT_EQ(found.steps[2].value, "differs");
  EXPECT_EQ(found.steps[2].explained, "yes") << "mul makes of a wrong value what eager makes of it";
  EXPECT_THAT(found.sentence, HasSubstr("`relu` by itself"));
}

TEST_F(Explaining, NamesWhatEagerRefuses) {
  torch_.raising_operator = "aten::relu.default";
  const Explanation found = explain(kChain);
  EXPECT_EQ(found.status, "validation_lost") << found.reason;
  EXPECT_EQ(found.how, How::raises);
  EXPECT_THAT(guilty(found), ElementsAre("r"));
  EXPECT_EQ(found.steps[1].alone, "validation_lost");
}

TEST_F(Explaining, NamesTheGreatestOfTwoFaultsAndNotTheFirst) {
  torch_.slightly_wrong = "aten::add.Tensor";
  torch_.wrong_operator = "aten::relu.default";
  const Explanation found = explain(kChain);
  EXPECT_THAT(guilty(found), ElementsAre("r"));
  EXPECT_THAT(found.also, IsEmpty()) << "a thousandth of it is another divergence";
  EXPECT_TRUE(found.certain);
  EXPECT_LT(found.steps[0].adds, 0.01);
  EXPECT_NEAR(found.steps[1].adds, 1, 0.01);
  EXPECT_THAT(found.curve, ElementsAre(testing::Lt(0.01), testing::Gt(0.9), testing::Gt(0.9)));
  EXPECT_THAT(found.borne_out, testing::Not(IsEmpty()));
}

TEST_F(Explaining, AccusesNobodyWhereTheDivergenceStaysWithoutTheAccused) {
  torch_.first_is_wrong = true;
  const Explanation found = explain(R"(
  "inputs": {"x": {"dtype": "float32", "values": [1, -2, 3]}},
  "steps": [{"let": "a", "op": "aten::neg.default", "args": ["%x"]},
            {"let": "b", "op": "aten::add.Tensor", "args": ["%a", "%x"]},
            {"let": "y", "op": "aten::neg.default", "args": ["%b"]}],
  "outputs": ["y"])");
  EXPECT_THAT(guilty(found), IsEmpty()) << "without it the next step is the first, and wrong";
  EXPECT_FALSE(found.certain);
  EXPECT_THAT(found.besides, ElementsAre(HasSubstr("the divergence stays, so nobody is accused")));
  EXPECT_THAT(found.sentence, HasSubstr("the step was not found"));
}

TEST_F(Explaining, NamesBothOfTwoFaultsOfOneSize) {
  torch_.wrong_when_fused = "aten::mul.Tensor";
  torch_.wrong_operator = "aten::neg.default";
  const Explanation found = explain(R"(
  "inputs": {"x": {"dtype": "float32", "values": [1, -2, 3]}},
  "steps": [{"let": "a", "op": "aten::neg.default", "args": ["%x"]},
            {"let": "b", "op": "aten::mul.Tensor", "args": ["%x", "%x"]},
            {"let": "y", "op": "aten::add.Tensor", "args": ["%a", "%b"]}],
  "outputs": ["y"])");
  EXPECT_THAT(guilty(found), ElementsAre("a"));
  EXPECT_THAT(found.also, ElementsAre(1)) << "both add half of it";
  EXPECT_TRUE(found.certain);
}

TEST_F(Explaining, ExplainsWhyADifferencePasses) {
  torch_.slightly_wrong = "aten::relu.default";
  const Explanation found = explain(R"--(
  "inputs": {"x": {"dtype": "float32", "values": [1, 2, 3]}},
  "steps": [{"let": "r", "op": "aten::relu.default", "args": ["%x"]},
            {"let": "y", "op": "aten::clone.default", "args": ["%r"]}],
  "outputs": ["y"], "compare": {"y": "close(rtol=0, atol=0.01)"})--");
  EXPECT_EQ(found.status, "conform");
  EXPECT_THAT(guilty(found), ElementsAre("r"));
  EXPECT_THAT(found.sentence, HasSubstr("it conforms: |Δ| 0.000977 in `y`"));
  EXPECT_THAT(found.policy, HasSubstr("lets it pass"));
  EXPECT_THAT(found.knobs, IsEmpty());
}

TEST_F(Explaining, HasNothingToSayOfTheSameBits) {
  const Explanation found = explain(kChain);
  EXPECT_EQ(found.status, "conform");
  EXPECT_EQ(found.layer, "");
  EXPECT_EQ(found.sentence, "it conforms, and nothing differs: there is nothing to explain");
  EXPECT_THAT(found.knobs, IsEmpty());
}

TEST_F(Explaining, SaysWhatItHadNoTimeFor) {
  torch_.fuses_casts = true;
  const Explanation found = explain(kRoundTrip, 0);
  EXPECT_THAT(found.open, ElementsAre(HasSubstr("no time for the verdict itself")));
  EXPECT_EQ(torch_.executed, 0U);
}

TEST_F(Explaining, IsTheSameEachTime) {
  torch_.fuses_casts = true;
  Explanation one = explain(kRoundTrip), other = explain(kRoundTrip);
  one.seconds = other.seconds = 0;
  EXPECT_EQ(one, other);
  EXPECT_EQ(to_json(one).dump(), to_json(other).dump());
}

TEST(How, EveryTextNamesTheOperators) {
  for (const HowInfo& each : all_hows()) {
    EXPECT_THAT(fmt::format(fmt::runtime(each.brief), "`sin`"), HasSubstr("`sin`")) << each.name;
    EXPECT_THAT(fmt::format(fmt::runtime(each.full), "step y", "crash"), HasSubstr("step y"))
        << each.name;
  }
}

/// `d` draws, from what may be wrong before.
constexpr const char* kDraws = R"(
  "inputs": {"x": {"dtype": "float32", "values": [1, 2, 3]}},
  "steps": [{"let": "r", "op": "aten::relu.default", "args": ["%x"]},
            {"let": "d", "op": "aten::bernoulli.default", "args": ["%r"]},
            {"let": "n", "op": "aten::neg.default", "args": ["%d"]},
            {"let": "y", "op": "aten::mul.Tensor", "args": ["%n", "%d"]}],
  "outputs": ["y"])";

Registry of_drawing() {
  Json operators = Json::object();
  for (const char* name : {"aten::relu", "aten::neg", "aten::bernoulli"})
    operators[name] = {{{"overload", "default"},
                        {"tags", Json::array()},
                        {"returns", Json::array()},
                        {"arguments", Json::array()}}};
  operators["aten::bernoulli"][0]["tags"] = {"nondeterministic_seeded"};
  operators["aten::mul"] = operators["aten::neg"];
  operators["aten::mul"][0]["overload"] = "Tensor";
  return *Registry::from_json(
      {{"format", 1}, {"torch", "2.13.0"}, {"operators_digest", "test"}, {"operators", operators}});
}

TEST_F(Explaining, FollowsADifferenceThroughWhatIsDrawn) {
  torch_.slightly_wrong = "aten::relu.default";
  torch_.wrong_operator = "aten::neg.default";
  const Registry registry = of_drawing();
  Case declared = *decode(kDraws);
  declared.random = true;
  const Explanation found = explain(std::make_shared<const Case>(declared), &registry);
  EXPECT_THAT(guilty(found), ElementsAre("n"));
  EXPECT_TRUE(found.certain);
  EXPECT_EQ(found.steps[0].explained, "no");
  EXPECT_EQ(found.steps[1].explained, "yes") << "it is given another number, and draws the same";
  EXPECT_LT(found.steps[0].adds, 0.1);
  EXPECT_THAT(found.open, IsEmpty());
}

TEST_F(Explaining, NamesWhatDrawsOtherwise) {
  torch_.wrong_operator = "aten::bernoulli.default";
  const Registry registry = of_drawing();
  Case declared = *decode(kDraws);
  declared.random = true;
  const Explanation found = explain(std::make_shared<const Case>(declared), &registry);
  EXPECT_THAT(guilty(found), ElementsAre("d"));
  EXPECT_EQ(found.steps[2].explained, "yes");
  EXPECT_THAT(found.open, IsEmpty());
}

/// Both additions are off by one: whichever of them is right, the other takes `y` to its bound.
TEST_F(Explaining, AddsWhoeverMakesMuchOfItWithoutTheFirst) {
  torch_.wrong_operator = "aten::add.Tensor";
  const Explanation found = explain(R"(
    "inputs": {"x": {"dtype": "float32", "values": [-1.05]},
               "c": {"dtype": "float32", "values": [0]}},
    "steps": [{"let": "a", "op": "aten::add.Tensor", "args": ["%x", "%c"]},
              {"let": "b", "op": "aten::add.Tensor", "args": ["%a", "%c"]},
              {"let": "n", "op": "aten::neg.default", "args": ["%b"]},
              {"let": "r", "op": "aten::relu.default", "args": ["%n"]},
              {"let": "y", "op": "aten::neg.default", "args": ["%r"]}],
    "outputs": ["y"])");
  EXPECT_THAT(guilty(found), ElementsAre("a"));
  EXPECT_THAT(found.also, ElementsAre(1));
  EXPECT_LT(found.steps[1].adds, 0.1);
  EXPECT_TRUE(found.certain);
}

}  // namespace
}  // namespace lockstep
