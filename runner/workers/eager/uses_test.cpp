#include "workers/eager/uses.h"

#include "workers/eager/testing.h"

namespace lockstep::eager {
namespace {

/// What one step with `x`, a view of 12 float32 numbers, says that it executed.
nlohmann::json uses_of(const std::string& step, const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& strides) {
  Request request;
  request.input("x", view(request.storage(std::vector<float>(12, 1)), "float32", shape, strides));
  request.step(step.c_str()).outputs({"y"});
  return request.run()["uses"];
}

TEST(Uses, say_dtype_and_layout_of_every_operand) {
  const auto layout = [](const std::vector<std::int64_t>& shape,
                         const std::vector<std::int64_t>& strides) {
    return uses_of(R"({"let": ["y"], "op": "aten::neg.default", "args": [{"ref": "x"}]})", shape,
                   strides);
  };
  const auto use = [](const std::string& word) {
    return nlohmann::json::array({"aten::neg.default float32:" + word});
  };
  EXPECT_EQ(layout({3, 4}, {4, 1}), use("contiguous"));
  EXPECT_EQ(layout({3, 4}, {1, 3}), use("permuted"));
  EXPECT_EQ(layout({3, 4}, {0, 1}), use("expanded"));
  EXPECT_EQ(layout({3}, {2}), use("strided"));
  EXPECT_EQ(layout({1, 3, 2, 2}, {12, 1, 6, 3}), use("channels_last"));
  EXPECT_EQ(layout({}, {}), use("scalar"));
  EXPECT_EQ(layout({0, 4}, {4, 1}), use("empty"));
}

TEST(Uses, say_arguments_that_are_not_their_defaults) {
  EXPECT_EQ(
      uses_of(R"({"let": ["y"], "op": "aten::sum.dim_IntList", "args": [{"ref": "x"}, [-1]],
                        "kwargs": {"keepdim": true}})",
              {3, 4}, {4, 1}),
      nlohmann::json::array({"aten::sum.dim_IntList float32:contiguous dim=[-1] keepdim=True"}));
  EXPECT_EQ(
      uses_of(R"({"let": ["y"], "op": "aten::mul.Tensor", "args": [{"ref": "x"}, 2]})", {3}, {1}),
      nlohmann::json::array({"aten::mul.Tensor float32:contiguous int64:number"}));
}

TEST(Uses, are_said_once_and_only_of_what_returned) {
  Request request;
  request.input("x", view(request.storage(std::vector<float>(4, 1)), "float32", {4}, {1}));
  request.step(R"({"let": ["a"], "op": "aten::neg.default", "args": [{"ref": "x"}]})")
      .step(R"({"let": ["b"], "op": "aten::neg.default", "args": [{"ref": "a"}]})")
      .step(R"({"let": ["y"], "op": "aten::view.default", "args": [{"ref": "b"}, [3]]})")
      .outputs({"y"});
  EXPECT_EQ(request.run()["uses"], nlohmann::json::array({"aten::neg.default float32:contiguous"}));
}

}  // namespace
}  // namespace lockstep::eager
