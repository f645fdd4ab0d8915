#include "judge/numerics/same.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/files.h"
#include "judge/numerics/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;

TEST(SameUpstream, FollowsTheRule) {
  const auto same = [](const Tensor& ref, const Tensor& res, const Tensor* gold = nullptr,
                       bool equal_nan = false) {
    return *same_upstream(ref, res, gold ? &gold->view : nullptr, 1e-4, equal_nan);
  };
  const Tensor one = tensor("float32", {1, 2});
  EXPECT_TRUE(same(one, tensor("float32", {1, 2.0001})));
  EXPECT_FALSE(same(one, tensor("float32", {1, 2.1})));
  EXPECT_FALSE(same(one, tensor("float64", {1, 2})));  // another dtype
  const Tensor gold = tensor("float64", {1, 2.1});
  EXPECT_TRUE(same(one, tensor("float32", {1, 2.1}), &gold));
  const Tensor nan = tensor("float32", {1, NAN});
  EXPECT_FALSE(same(nan, nan));
  EXPECT_TRUE(same(nan, nan, nullptr, true));
  EXPECT_TRUE(same(nan, tensor("float32", {1, 2.1}), &gold));  // better than the reference
  EXPECT_FALSE(same(tensor("bool", {1, 0}), tensor("bool", {1, 1})));
}

/// A tensor described in `pairs.json`: dtype, shape and where in `pairs.bin` it lies.
TensorView view_of(const nlohmann::json& json, std::span<const std::byte> bytes) {
  TensorView view;
  view.dtype = find_dtype(json.at("dtype").get<std::string>());
  view.shape = json.at("shape").get<std::vector<std::int64_t>>();
  view.strides = contiguous(view.shape);
  const auto size = static_cast<std::size_t>(view.elements() * view.dtype->bytes);
  view.bytes = bytes.subspan(json.at("at").get<std::size_t>(), size);
  return view;
}

// test_upstream.py asks: it writes pairs of tensors, runs this test, and compares the answers with
// torch's own.
TEST(SameUpstream, AnswersThePairsOfThePythonTest) {
  const char* directory = std::getenv("LOCKSTEP_JUDGE_PAIRS");
  if (directory == nullptr) GTEST_SKIP() << "asked by test_upstream.py";
  const std::filesystem::path path(directory);
  const auto pairs = nlohmann::json::parse(*read_file(path / "pairs.json"));
  const auto file = FileCopy::open(path / "pairs.bin");
  ASSERT_TRUE(file) << file.error().message;
  nlohmann::json answers = nlohmann::json::array();
  for (const auto& pair : pairs) {
    const TensorView ref = view_of(pair.at("ref"), (*file)->bytes());
    const TensorView res = view_of(pair.at("res"), (*file)->bytes());
    TensorView gold;
    if (!pair.at("gold").is_null()) gold = view_of(pair.at("gold"), (*file)->bytes());
    const TensorView* fp64 = pair.at("gold").is_null() ? nullptr : &gold;
    if (pair.at("rule") == "same") {
      const auto same = same_upstream(ref, res, fp64, pair.at("tol"), pair.at("equal_nan"));
      answers.push_back(same ? nlohmann::json(*same) : nlohmann::json());
      continue;
    }
    Subject subject;
    subject.eager = &ref;
    subject.compiled = &res;
    subject.fp64 = fp64;
    answers.push_back(
        Comparison(subject).check(*parse_policy(pair.at("rule").get<std::string>())).holds());
  }
  std::ofstream(path / "answers.json") << answers.dump();
}

}  // namespace
}  // namespace lockstep
