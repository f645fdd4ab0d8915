#include "cases/relations.h"

#include <gtest/gtest.h>

#include <cstring>

#include "cases/decode.h"
#include "cases/fill.h"

namespace lockstep {
namespace {

/// The numbers of a tensor of two dimensions, row by row.
std::vector<float> numbers_of(const TensorSpec& spec) {
  const std::vector<std::byte> bytes = storage_bytes(spec, "x");
  std::vector<float> numbers;
  for (std::int64_t row = 0; row < spec.shape[0]; ++row) {
    for (std::int64_t column = 0; column < spec.shape[1]; ++column) {
      float number = 0;
      const std::int64_t at = spec.offset + row * spec.strides[0] + column * spec.strides[1];
      std::memcpy(&number, bytes.data() + at * 4, 4);
      numbers.push_back(number);
    }
  }
  return numbers;
}

const TensorSpec& input_of(const CallSpec& call) {
  return std::get<TensorSpec>(call.inputs.front().value);
}

std::optional<Case> decoded(const std::string& relations, Diagnostics& diagnostics,
                            const std::string& more = "") {
  const std::string text =
      R"({"format": 1, "title": "t",
          "inputs": {"x": {"dtype": "float32", "shape": [3, 2], "fill": {"normal": {}, "seed": 1}}},
          "steps": [{"let": "y", "op": "exp", "args": ["%x"]}], "outputs": ["y"],)" +
      more + R"("relations": )" + relations + "}";
  JsonFile file;
  file.name = "t.json";
  file.text = text;
  parse_json(file, diagnostics);
  return decode_case(file, file.root, "t", {}, diagnostics);
}

Case decoded(const std::string& relations) {
  Diagnostics diagnostics;
  auto made = decoded(relations, diagnostics);
  EXPECT_TRUE(made) << (diagnostics.empty() ? "" : diagnostics.front().message);
  return made.value_or(Case());
}

TEST(RelationsOfCases, RowsComeAloneElsewhereAndInOtherCompany) {
  const RelatedCase related =
      with_calls_of_relations(decoded(R"([{"batch": {"x": 0}, "sizes": [1]}])"));
  // Three draws; of each its first row, of the first its last one, and it beside others.
  ASSERT_EQ(related.declared.calls.size(), 8U);
  ASSERT_EQ(related.relations.size(), 5U);
  const std::vector<float> first = numbers_of(input_of(related.declared.calls[0]));
  const std::vector<float> second = numbers_of(input_of(related.declared.calls[1]));
  EXPECT_NE(first, second);
  const auto given = [&](std::size_t relation) {
    return numbers_of(input_of(related.declared.calls[related.relations[relation].call]));
  };
  using Numbers = std::vector<float>;
  EXPECT_EQ(given(0), Numbers(first.begin(), first.begin() + 2));
  EXPECT_EQ(given(1), Numbers(second.begin(), second.begin() + 2));
  EXPECT_EQ(given(3), Numbers(first.begin() + 4, first.end()));
  Numbers company(first.begin(), first.begin() + 2);
  company.insert(company.end(), second.begin() + 2, second.end());
  EXPECT_EQ(given(4), company);
  EXPECT_EQ(related.relations[3].what, "the absence of all but row 2 of 3");
  EXPECT_EQ(related.relations[3].rows[0].from, 2);
}

TEST(RelationsOfCases, RowsComeInAnotherOrderAndNumbersInAnotherLayout) {
  const RelatedCase related = with_calls_of_relations(
      decoded(R"([{"rows": {"x": 0}}, {"layout": "shifted"}, {"layout": "transposed"}, "again"])"));
  const std::vector<float> first = numbers_of(input_of(related.declared.calls[0]));
  const auto call = [&](std::size_t relation) -> const CallSpec& {
    return related.declared.calls[related.relations[relation].call];
  };
  EXPECT_EQ(numbers_of(input_of(call(0))),
            (std::vector<float>{first[4], first[5], first[2], first[3], first[0], first[1]}));
  EXPECT_EQ(related.relations[0].rows.size(), 3U);
  const TensorSpec& shifted = input_of(call(3));
  EXPECT_EQ(shifted.offset, 1);
  EXPECT_EQ(numbers_of(shifted), first);
  const TensorSpec& transposed = input_of(call(4));
  EXPECT_EQ(transposed.strides, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(numbers_of(transposed), first);
  EXPECT_EQ(related.relations.back().call, related.declared.calls.size() - 1)
      << "behind the others";
}

TEST(RelationsOfCases, WhatIsWrongIsSaid) {
  const auto error = [](const std::string& relations, const std::string& more = "") {
    Diagnostics diagnostics;
    EXPECT_FALSE(decoded(relations, diagnostics, more)) << relations;
    return diagnostics.empty() ? std::string() : diagnostics.front().message;
  };
  EXPECT_EQ(error(R"(["agian"])"), "found the string \"agian\", expected a relation");
  EXPECT_EQ(error(R"([{"batch": {"z": 0}, "sizes": [1]}])"),
            "found `z`, expected an input that is a tensor");
  EXPECT_EQ(error(R"([{"batch": {"x": 2}, "sizes": [1]}])"),
            "found the number 2, expected a dimension of it");
  EXPECT_EQ(error(R"([{"batch": {"x": 0}, "sizes": [3]}])"),
            "found the number 3, expected fewer rows than there are, and at least 1");
  EXPECT_EQ(error(R"([{"batch": {"x": 0}}])"),
            "the key `sizes` is missing: how many rows come alone");
  EXPECT_EQ(error(R"([{"rows": {"x": 0}, "sizes": [1]}])"),
            "found `sizes`, which only `batch` has");
  EXPECT_EQ(error(R"([{"rows": {"x": 0}, "of": ["z"]}])"), "found `z`, expected an output");
  EXPECT_EQ(error(R"(["again"])", R"("calls": [{}, {}], )"),
            "found `relations`, but it has several calls");
}

TEST(RelationsOfCases, TheUsualOnesTakeWhatHasTheRowsOfTheFirstTensor) {
  const std::vector<RelationSpec> usual = usual_relations(decoded("[]"));
  ASSERT_EQ(usual.size(), 6U);
  EXPECT_EQ(usual[0].sizes, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(usual[0].inputs.front().first, "x");
}

}  // namespace
}  // namespace lockstep
