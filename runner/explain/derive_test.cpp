#include "explain/derive.h"

#include <gmock/gmock.h>

#include "explain/fake_torch.h"
#include "program/edit.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kNested = R"(
  "inputs": {"x": {"dtype": "float32", "values": [[1, 2], [3, 4]]}},
  "steps": [{"let": "a", "op": "aten::neg.default", "args": ["%x"]},
            {"with": {"grad": false}, "steps": [
              {"let": "b", "op": "aten::neg.default", "args": ["%a"]},
              {"with": {"default_dtype": "float64"}, "steps": [
                {"let": "c", "op": "aten::relu.default", "args": ["%b"]}]},
              {"let": "d", "op": "aten::add.Tensor", "args": ["%b", "%c"]}]}],
  "outputs": ["d"])";

class Deriving : public OnFakeTorch {
 protected:
  /// A value of some floats, kept by the test.
  void know(const std::string& name, std::vector<float> values, std::vector<std::int64_t> shape,
            std::vector<std::int64_t> strides, std::int64_t offset = 0) {
    kept_.push_back(std::move(values));
    TensorView view;
    view.dtype = find_dtype("float32");
    view.shape = std::move(shape);
    view.strides = std::move(strides);
    view.offset = offset;
    view.bytes = std::as_bytes(std::span(kept_.back()));
    values_.of[name] = view;
  }

  std::deque<std::vector<float>> kept_;
  GivenValues values_;
};

TEST_F(Deriving, FlattensAndNestsBack) {
  const auto whole = decode(kNested);
  const std::vector<FlatStep> flat = flatten(whole->program.steps);
  ASSERT_EQ(flat.size(), 4U);
  EXPECT_EQ(flat[0].within.size(), 0U);
  EXPECT_EQ(flat[2].within.size(), 2U);
  EXPECT_EQ(nest(flat), whole->program.steps);
}

TEST_F(Deriving, APartTakesWhatItDoesNotMake) {
  const auto whole = decode(kNested);
  const std::vector<FlatStep> flat = flatten(whole->program.steps);
  know("b", {9, 5, 6, 7, 8}, {2, 2}, {1, 2}, 1);  // a transpose that begins after its storage
  const std::vector<FlatStep> chosen = {flat[2], flat[3]};
  const auto part = part_of(*whole, chosen, {"d"}, values_, true, 0);
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_THAT(part->program.inputs, ElementsAre("b"));
  EXPECT_EQ(part->calls.size(), 1U);
  const auto& spec = std::get<TensorSpec>(part->calls[0].inputs.at(0).value);
  EXPECT_THAT(spec.strides, ElementsAre(1, 2));
  EXPECT_EQ(spec.offset, 0);
  EXPECT_EQ(std::get<LiteralFill>(spec.fill).elements.size(), 4U);
  EXPECT_EQ(std::get<LiteralFill>(spec.fill).elements[0].low, 0x40a00000U) << "5.0f";
  EXPECT_EQ(part->compare.size(), 1U);
  EXPECT_THAT(part->operators, ElementsAre("aten::relu.default", "aten::add.Tensor"));
  EXPECT_TRUE(check_program(part->program));
}

TEST_F(Deriving, APartOfUnknownValuesIsRefused) {
  const auto whole = decode(kNested);
  const std::vector<FlatStep> flat = flatten(whole->program.steps);
  const auto part = part_of(*whole, std::span(flat).subspan(3), {"d"}, values_, false, 0);
  ASSERT_FALSE(part);
  EXPECT_THAT(part.error().message, HasSubstr("the value of `b` is not known"));
}

TEST_F(Deriving, ListsBecomeTensorsOfTheirOwn) {
  const auto whole = decode(R"(
    "inputs": {"x": {"dtype": "float32", "values": [1, 2]}},
    "steps": [{"let": "l", "op": "aten::chunk.default", "args": ["%x", 2]},
              {"let": "y", "op": "aten::cat.default", "args": ["%l"]}],
    "outputs": ["y"])");
  values_.of["l"] = ScalarValue(ListOf{2});
  know("l[0]", {1}, {1}, {1});
  know("l[1]", {2}, {1}, {1});
  const std::vector<FlatStep> flat = flatten(whole->program.steps);
  const auto part = part_of(*whole, std::span(flat).subspan(1), {"y"}, values_, false, 0);
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_THAT(part->program.inputs, ElementsAre("l_0", "l_1"));
}

TEST_F(Deriving, WhatIsWrittenToIsCopiedAsItWasMade) {
  const auto quiet = decode(kNested);
  EXPECT_EQ(output_names(observe(*quiet, {"a", "b"}, false, nullptr).declared.program),
            (std::vector<std::string>{"d", "a", "b"}));
  const auto writing = decode(R"(
    "inputs": {"x": {"dtype": "float32", "values": [1, 2]}},
    "steps": [{"let": "a", "op": "aten::neg.default", "args": ["%x"]},
              {"let": "b", "op": "aten::relu_.default", "args": ["%a"]}],
    "outputs": ["b"])");
  const Observed seen = observe(*writing, {"a"}, false, nullptr);
  EXPECT_THAT(output_names(seen.declared.program), ElementsAre("b", "a_seen"));
  EXPECT_EQ(seen.seen_as.at("a"), "a_seen");
  EXPECT_EQ(seen.declared.program.steps.size(), 3U);
}

}  // namespace
}  // namespace lockstep
