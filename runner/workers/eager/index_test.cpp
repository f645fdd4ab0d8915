#include "workers/eager/index.h"

#include "workers/eager/testing.h"

namespace lockstep::eager {
namespace {

using Floats = std::vector<float>;
using Sizes = std::vector<int>;

/// x = arange(12).reshape(3, 4) and the tensors `i` = [2, 0] and `m` = [true, false, true].
void prepare(Request& request) {
  request
      .input("x", view(request.storage<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), "float32",
                       {3, 4}, {4, 1}))
      .input("i", view(request.storage<std::int64_t>({2, 0}), "int64", {2}, {1}))
      .input("m", view(request.storage<std::uint8_t>({1, 0, 1}), "bool", {3}, {1}));
}

struct Case {
  const char* index;
  Sizes shape;
  Floats values;  ///< of the contiguous result
};

TEST(Index, reads_what_python_reads) {
  const std::vector<Case> cases = {
      {"[1]", {4}, {4, 5, 6, 7}},
      {"[-1, 2]", {}, {10}},
      {R"([{"ellipsis": true}, {"slice": [0, null, 2]}])", {3, 2}, {0, 2, 4, 6, 8, 10}},
      {R"([{"slice": [null, 2, null]}, -1])", {2}, {3, 7}},
      {R"([{"newaxis": true}, 0, {"newaxis": true}])", {1, 1, 4}, {0, 1, 2, 3}},
      {R"([{"ref": "i"}])", {2, 4}, {8, 9, 10, 11, 0, 1, 2, 3}},
      {R"([{"ref": "i"}, {"ref": "i"}])", {2}, {10, 0}},
      {R"([{"ref": "m"}, 1])", {2}, {1, 9}},
      {"[[0, 2], 0]", {2}, {0, 8}},
      {"[[true, false, true], 0]", {2}, {0, 8}},
      {R"([{"slice": [null, null, null]}, [[0], [1]]])", {3, 2, 1}, {0, 1, 4, 5, 8, 9}},
      {"[true, 0]", {1, 4}, {0, 1, 2, 3}},
      {"[]", {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
  };
  for (const Case& wanted : cases) {
    Request request;
    prepare(request);
    request.step(R"({"let": ["a"], "get": {"ref": "x"}})")
        .step(
            R"({"let": ["y"], "op": "aten::clone.default", "args": [{"ref": "a"}], "kwargs": {"memory_format": {"memory_format": "contiguous_format"}}})")
        .outputs({"y"});
    request["program"]["steps"][0]["index"] = nlohmann::json::parse(wanted.index);
    const auto& observation = request.run();
    ASSERT_EQ(observation["outcome"], "returned") << wanted.index << observation;
    EXPECT_EQ(request.call()["outputs"]["y"]["shape"], wanted.shape) << wanted.index;
    EXPECT_EQ(request.values<float>(request.call()["outputs"]["y"]), wanted.values) << wanted.index;
  }
}

TEST(Index, basic_indexing_makes_views) {
  Request request;
  prepare(request);
  request.step(R"({"let": ["y"], "get": {"ref": "x"}, "index": [{"slice": [1, null, 2]}, 1]})")
      .step(R"({"let": ["z"], "get": {"ref": "x"}, "index": [{"ellipsis": true}]})")
      .outputs({"y", "z"});
  request.run();
  const auto& call = request.call();
  EXPECT_EQ(call["outputs"]["y"]["storage"], call["inputs"]["x"]["storage"]);
  EXPECT_EQ(call["outputs"]["y"]["offset"], 5);
  EXPECT_EQ(call["outputs"]["z"]["storage"], call["inputs"]["x"]["storage"]);
  EXPECT_FALSE(call["outputs"]["z"].contains("is"));
}

TEST(Index, assigns_what_python_assigns) {
  Request request;
  prepare(request);
  request.step(R"({"set": {"ref": "x"}, "index": [0], "to": 0})")
      .step(R"({"set": {"ref": "x"}, "index": [{"ref": "i"}, 3], "to": {"float": "-0x1p-1"}})")
      .step(R"({"set": {"ref": "x"}, "index": [1, {"slice": [0, 2, null]}], "to": {"ref": "i"}})")
      .step(R"({"set": {"ref": "x"}, "index": [{"ref": "m"}, 2], "to": 7})");
  ASSERT_EQ(request.run()["outcome"], "returned") << request.run();
  EXPECT_EQ(request.values<float>(request.call()["inputs"]["x"]),
            (Floats{0, 0, 7, -.5, 2, 0, 6, 7, 8, 9, 7, -.5}));
}

TEST(Index, raises_what_python_raises) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"[3]", "IndexError"},
      {"[0, 0, 0]", "IndexError"},
      {R"([{"float": "0x1p+0"}])", "IndexError"},
      {R"([{"slice": [null, null, -1]}])", "ValueError"},
      {R"([{"slice": [null, null, 0]}])", "ValueError"},
      {"[[5]]", "IndexError"}};
  for (const auto& [index, error] : cases) {
    Request request;
    prepare(request);
    request.step(R"({"let": ["y"], "get": {"ref": "x"}})").outputs({"y"});
    request["program"]["steps"][0]["index"] = nlohmann::json::parse(index);
    const auto& observation = request.run();
    ASSERT_EQ(observation["outcome"], "raised") << index << observation;
    EXPECT_EQ(observation["error"]["class"], error) << index;
  }
}

}  // namespace
}  // namespace lockstep::eager
