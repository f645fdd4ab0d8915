#include "workers/eager/state.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workers/eager/context.h"
#include "workers/eager/fnv1a.h"
#include "workers/eager/observe.h"
#include "workers/eager/testing.h"

namespace lockstep::eager {
namespace {

using nlohmann::ordered_json;

/// relu of x, one number for each of `values`.
void relu_of(Request& request, const std::vector<float>& values) {
  request
      .input("x", view(request.storage(values), "float32",
                       {static_cast<std::int64_t>(values.size())}, {1}))
      .step(R"({"let": ["y"], "op": "aten::relu.default", "args": [{"ref": "x"}], "kwargs": {}})")
      .outputs({"y"});
}

TEST(State, DigestsAreFnv1a) {
  // Of the test vectors of its authors.
  EXPECT_EQ(Fnv1a().hex(), "cbf29ce484222325");
  EXPECT_EQ(Fnv1a().add("foo").add("bar").hex(), "85944171f73967e8");
}

TEST(State, SaysTheModesThatAreInForce) {
  const ordered_json before = observe_state(c10::kCPU);
  ordered_json modes = before["modes"];
  for (const char* name :
       {"environment", "signals", "python_random", "default_device", "matmul_precision", "anomaly",
        "rounding", "subnormals", "warning_filters"}) {
    EXPECT_EQ(modes[name], "as before");
    modes.erase(name);
  }
  EXPECT_EQ(modes.dump(), R"({"grad":true,"inference":false,"default_dtype":"float32",)"
                          R"("deterministic_algorithms":"off","autocast_cpu":"off","threads":)" +
                              std::to_string(at::get_num_threads()) + "}");
  Context context;
  context.grad = false;
  context.default_dtype = "float64";
  context.deterministic_algorithms = true;
  context.autocast = Autocast{"cpu", "bfloat16"};
  {
    const ContextGuard guard(context);
    const ordered_json inside = observe_state(c10::kCPU)["modes"];
    EXPECT_EQ(inside["grad"], false);
    EXPECT_EQ(inside["default_dtype"], "float64");
    EXPECT_EQ(inside["deterministic_algorithms"], "on");
    EXPECT_EQ(inside["autocast_cpu"], "bfloat16");
  }
  EXPECT_EQ(observe_state(c10::kCPU), before);
}

TEST(State, GeneratorsHaveTheDigestsThatPythonGivesThem) {
  // The same two in compiled/test_state.py.
  at::Generator generator = at::globalContext().defaultGenerator(c10::kCPU);
  generator.set_current_seed(5);
  EXPECT_EQ(observe_state(c10::kCPU)["generators"]["cpu"], "1b35da5b1d8e2398");
  static_cast<void>(at::rand({3}));
  EXPECT_EQ(observe_state(c10::kCPU)["generators"]["cpu"], "483819f76d5a7581");
}

TEST(State, EveryCallSaysIt) {
  Request request;
  relu_of(request, {1, -2});
  request["repeat"] = 2;
  request.run();
  EXPECT_TRUE(request.call(1)["state"]["modes"]["grad"]);
  // Nothing was drawn: the same seed, the same state.
  EXPECT_EQ(request.call(0)["state"], request.call(1)["state"]);
  EXPECT_FALSE(request.call(0).contains("again"));
}

TEST(State, EveryCallSaysWhichInputsAreCountedAsWrittenToAndThatNothingIsKept) {
  Request request;
  request.input("x", view(request.storage(std::vector<float>{1, 2}), "float32", {2}, {1}))
      .input("w", view(request.storage(std::vector<float>{1, 2}), "float32", {2}, {1}))
      .step(R"({"let": [], "op": "aten::add_.Scalar", "args": [{"ref": "w"}, 1], "kwargs": {}})")
      .step(R"({"let": ["y"], "op": "aten::relu.default", "args": [{"ref": "x"}], "kwargs": {}})")
      .outputs({"y"});
  request["repeat"] = 2;
  request.run();
  for (const std::size_t call : {0, 1}) {
    EXPECT_EQ(request.call(call)["state"]["versions"], ordered_json({"w"}));
    EXPECT_EQ(request.call(call)["state"]["kept"], ordered_json::array());
  }
}

TEST(State, MemoryThatSomebodyKeepsIsNamed) {
  Memory memory;
  const at::Tensor kept = at::ones({2});
  memory.note({{"x", kept.view({2, 1})}, {"n", 1}},
              {{"y", at::ones({2})}, {"x", kept.detach()}, {"z", c10::List<at::Tensor>({kept})}});
  ordered_json runs = {{{"calls", {{{"state", ordered_json::object()}}}}}};
  memory.settle(runs);
  EXPECT_EQ(runs[0]["calls"][0]["state"]["kept"], ordered_json({"x", "z"}));
}

TEST(State, VersionsAreNotThoseOfInputsThatShareMemory) {
  const at::Tensor x = at::ones({2}), y = at::ones({2});
  const at::Tensor shares = at::empty({0}).set_(y.storage(), 0, {2}, {1});
  const Versions versions({{"x", x}, {"y", y}, {"shares", shares}, {"n", 1}});
  x.add_(1);
  y.add_(1);
  EXPECT_EQ(versions.counted(), std::vector<std::string>{"x"});
}

TEST(State, EveryCallAndTheLastRepetitionHaveSeedsOfTheirOwn) {
  Request request;
  request.step(R"({"let": ["y"], "op": "aten::rand.default", "args": [[8]], "kwargs": {}})")
      .outputs({"y"});
  request["calls"] = {{{"inputs", nlohmann::json::object()}},
                      {{"inputs", nlohmann::json::object()}}};
  request["repeat"] = 3;
  request["seed"] = 5;
  request["reseed"] = true;
  const ordered_json seen = request.run();
  const auto drawn = [&](std::size_t repetition, std::size_t call) {
    return request.values<float>(seen["runs"][repetition]["calls"][call]["outputs"]["y"]);
  };
  EXPECT_EQ(drawn(0, 0), drawn(1, 0));
  EXPECT_EQ(drawn(0, 1), drawn(1, 1));
  EXPECT_NE(drawn(0, 0), drawn(0, 1));
  EXPECT_NE(drawn(0, 0), drawn(2, 0));
  EXPECT_NE(drawn(0, 1), drawn(2, 0));
  Request second;
  second.step(R"({"let": ["y"], "op": "aten::rand.default", "args": [[8]], "kwargs": {}})")
      .outputs({"y"});
  second["seed"] = 8;  // of call 1 of the repetition with other seeds: 5 + 2 calls + 1
  second.run();
  EXPECT_EQ(drawn(2, 1), second.values<float>(second.call()["outputs"]["y"]));
  EXPECT_NE(seen["runs"][0]["calls"][0]["state"], seen["runs"][0]["calls"][1]["state"]);
}

TEST(State, AnErrorLeavesItsInputs) {
  Request request;
  relu_of(request, {1, -2});
  request.step(R"({"let": [], "op": "aten::add_.Scalar", "args": [{"ref": "x"}, 1], "kwargs": {}})")
      .step(
          R"({"let": ["z"], "op": "aten::mm.default", "args": [{"ref": "x"}, {"ref": "x"}], "kwargs": {}})");
  const ordered_json seen = request.run();
  ASSERT_EQ(seen["outcome"], "raised");
  EXPECT_EQ(seen["after_error"]["call"], 0);
  EXPECT_EQ(request.values<float>(seen["after_error"]["inputs"]["x"]), (std::vector<float>{2, -1}));
  EXPECT_TRUE(seen["after_error"]["state"]["modes"]["grad"]);
}

TEST(State, CallsBehindAnErrorAreMadeUpToAnotherOne) {
  Request request;
  request
      .step(
          R"({"let": ["y"], "op": "aten::mm.default", "args": [{"ref": "x"}, {"ref": "x"}], "kwargs": {}})")
      .outputs({"y"});
  const nlohmann::json fits = view(request.storage<float>({1, 2, 3, 4}), "float32", {2, 2}, {2, 1});
  const nlohmann::json none = view(request.storage<float>({1, 2}), "float32", {1, 2}, {2, 1});
  request.input("x", fits);
  request["calls"] = nlohmann::json::array();
  for (const auto& x : {fits, none, fits, none, fits})
    request["calls"].push_back({{"inputs", {{"x", x}}}});
  const ordered_json seen = request.run();
  EXPECT_EQ(seen["outcome"], "raised");
  EXPECT_EQ(seen["after_error"]["call"], 1);
  ASSERT_EQ(seen["after_error"]["calls"].size(), 1u);
  EXPECT_EQ(request.values<float>(seen["after_error"]["calls"][0]["outputs"]["y"]),
            (std::vector<float>{7, 10, 15, 22}));
}

/// y = x * x with a backward.
void squares(Request& request) {
  nlohmann::json x = view(request.storage<float>({1, 2}), "float32", {2}, {1});
  x["requires_grad"] = true;
  request.input("x", x)
      .step(
          R"({"let": ["y"], "op": "aten::mul.Tensor", "args": [{"ref": "x"}, {"ref": "x"}], "kwargs": {}})")
      .outputs({"y"});
}

TEST(State, ASecondBackwardRaisesUnlessTheGraphIsRetained) {
  Request freed;
  squares(freed);
  freed["program"]["backward"] = {{"of", {"y"}}, {"with", "ones"}, {"twice", true}};
  const ordered_json seen = freed.run();
  ASSERT_EQ(seen["outcome"], "raised");
  EXPECT_THAT(seen["error"]["message"].get<std::string>(), testing::HasSubstr("a second time"));
  EXPECT_EQ(freed.values<float>(freed.call()["outputs"]["y"]), (std::vector<float>{1, 4}));
  EXPECT_TRUE(freed.call()["grads"].empty());

  Request retained;
  squares(retained);
  retained["program"]["backward"] = {
      {"of", {"y"}}, {"with", "ones"}, {"twice", true}, {"retain_graph", true}};
  ASSERT_EQ(retained.run()["outcome"], "returned");
  EXPECT_EQ(retained.values<float>(retained.call()["grads"]["x"]), (std::vector<float>{4, 8}));
}

TEST(State, WhatReadsOtherwiseLaterIsSaid) {
  std::string pattern = ::testing::TempDir() + "lockstep-again-XXXXXX";
  const std::filesystem::path folder = mkdtemp(pattern.data());
  Observer observer(folder);
  observer.keep();
  const at::Tensor y = at::ones({3}), kept = at::ones({3});
  ordered_json runs = {{{"calls", {observer.call({{"y", y}, {"z", kept}}, {}, {})}}}};
  y.fill_(7);
  observer.read_again(runs);
  const ordered_json& again = runs[0]["calls"][0]["again"];
  ASSERT_TRUE(again["outputs"].contains("y"));
  EXPECT_FALSE(again["outputs"].contains("z"));
  EXPECT_NE(again["outputs"]["y"]["storage"], runs[0]["calls"][0]["outputs"]["y"]["storage"]);
  EXPECT_EQ(observer.storages().size(), 3u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lockstep::eager
