#include "cases/restarted.h"

#include <gtest/gtest.h>

#include <cstring>

#include "cases/fill.h"

namespace lockstep {
namespace {

/// Two calls; what `new` was after the first is `w` in the second.
Case two_calls() {
  Case declared;
  TensorSpec w;
  w.dtype = find_dtype("float32");
  w.shape = {2};
  w.strides = {1};
  w.storage_elements = 2;
  w.requires_grad = true;
  w.fill = LiteralFill{{{0, 0}, {0, 0}}};
  declared.calls = {CallSpec{{{"w", w}}}, CallSpec{{{"w", w}}}};
  declared.program.inputs = {"w"};
  declared.program.carry = {{"w", "new"}};
  return declared;
}

TEST(Restarted, EachCallIsGivenWhatEagerHandedOver) {
  // A view of a storage that is larger, in another order.
  const float numbers[] = {9, 1, 8, 2};
  TensorView left;
  left.dtype = find_dtype("float32");
  left.shape = {2};
  left.strides = {2};
  left.offset = 1;
  left.bytes = std::as_bytes(std::span(numbers));
  Observation eager;
  eager.outcome = Outcome::returned;
  eager.repetitions = {{CallResult{{{"new", left}}, {}, {}}, CallResult{}}};

  const auto restarted = restarted_case(two_calls(), eager);
  ASSERT_TRUE(restarted);
  EXPECT_TRUE(restarted->program.carry.empty());
  const auto given = [&](std::size_t call) {
    return std::get<TensorSpec>(restarted->calls[call].inputs[0].value);
  };
  EXPECT_TRUE(std::holds_alternative<LiteralFill>(given(0).fill)) << "the first is the case's own";
  EXPECT_TRUE(given(1).requires_grad);
  EXPECT_EQ(given(1).offset, 1);
  const std::vector<std::byte> bytes = storage_bytes(given(1), "w");
  ASSERT_EQ(bytes.size(), sizeof numbers);
  EXPECT_EQ(std::memcmp(bytes.data(), numbers, sizeof numbers), 0);
}

TEST(Restarted, ThereIsNoneWhereNothingIsHandedOver) {
  Observation eager;
  eager.outcome = Outcome::raised;
  EXPECT_FALSE(restarted_case(two_calls(), eager));
  eager.outcome = Outcome::returned;
  EXPECT_FALSE(restarted_case(two_calls(), eager)) << "calls are missing";
  eager.repetitions = {{CallResult{}, CallResult{}}};
  EXPECT_FALSE(restarted_case(two_calls(), eager)) << "`new` is missing";
  Case alone = two_calls();
  alone.program.carry.clear();
  EXPECT_FALSE(restarted_case(alone, eager));
}

}  // namespace
}  // namespace lockstep
