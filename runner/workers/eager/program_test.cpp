#include "workers/eager/program.h"

#include <cmath>

#include "workers/eager/errors.h"
#include "workers/eager/testing.h"

namespace lockstep::eager {
namespace {

using Floats = std::vector<float>;

/// A request with `x`, float32 values in one dimension.
Request& with_x(Request& request, const Floats& values, bool requires_grad = false) {
  const auto size = static_cast<std::int64_t>(values.size());
  nlohmann::json x = view(request.storage(values), "float32", {size}, {1});
  x["requires_grad"] = requires_grad;
  return request.input("x", x);
}

TEST(Program, rounding_to_half_and_back_is_kept) {
  Request request;
  with_x(request, {1.0F / 7})
      .step(
          R"({"let": ["h"], "op": "aten::to.dtype", "args": [{"ref": "x"}, {"dtype": "float16"}]})")
      .step(
          R"({"let": ["y"], "op": "aten::to.dtype", "args": [{"ref": "h"}, {"dtype": "float32"}]})")
      .outputs({"y"});
  request.run();
  EXPECT_EQ(request.values<float>(request.call()["outputs"]["y"]), Floats{0x1.248p-3F});
}

TEST(Program, keywords_defaults_and_wrapped_numbers) {
  Request request;
  with_x(request, {1, 2, 3})
      .step(
          R"({"let": ["a"], "op": "aten::add.Tensor", "args": [{"ref": "x"}, 2], "kwargs": {"alpha": 3}})")
      .step(
          R"({"let": ["s"], "op": "aten::sum.dim_IntList", "args": [{"ref": "a"}, 0], "kwargs": {"keepdim": true}})")
      .outputs({"a", "s"});
  request.run();
  const auto& outputs = request.call()["outputs"];
  EXPECT_EQ(outputs["a"]["dtype"], "float32");
  EXPECT_EQ(request.values<float>(outputs["a"]), (Floats{7, 8, 9}));
  EXPECT_EQ(outputs["s"]["shape"], std::vector<int>{1});
}

TEST(Program, tuples_and_lists_are_unpacked_and_unneeded_results_dropped) {
  Request request;
  with_x(request, {3, 1, 2})
      .step(R"({"let": [null, "i"], "op": "aten::sort.default", "args": [{"ref": "x"}]})")
      .step(
          R"({"let": ["a", "b"], "op": "aten::split_with_sizes.default", "args": [{"ref": "x"}, [1, 2]]})")
      .step(
          R"({"let": ["all"], "op": "aten::split_with_sizes.default", "args": [{"ref": "x"}, [1, 2]]})")
      .step(R"({"let": ["c"], "op": "aten::cat.default", "args": [{"ref": "all"}]})")
      .step(R"({"let": ["last"], "get": {"ref": "all"}, "index": [-1]})")
      .outputs({"i", "b", "c", "last"});
  request.run();
  const auto& outputs = request.call()["outputs"];
  EXPECT_EQ(request.values<std::int64_t>(outputs["i"]), (std::vector<std::int64_t>{1, 2, 0}));
  EXPECT_EQ(outputs["b"]["offset"], 1);
  EXPECT_EQ(outputs["b"]["storage"], request.call()["inputs"]["x"]["storage"]);
  EXPECT_EQ(request.values<float>(outputs["c"]), (Floats{3, 1, 2}));
  EXPECT_EQ(outputs["last"]["shape"], std::vector<int>{2});
}

TEST(Program, an_output_may_be_a_list) {
  Request request;
  with_x(request, {3, 1})
      .step(R"({"let": ["all"], "op": "aten::split.Tensor", "args": [{"ref": "x"}, 1]})")
      .outputs({"all"});
  request.run();
  const auto& list = request.call()["outputs"]["all"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1]["offset"], 1);
}

TEST(Program, what_was_finished_before_an_error_is_kept) {
  Request request;
  with_x(request, {1, 2})
      .step(R"({"let": ["y"], "op": "aten::view.default", "args": [{"ref": "x"}, [2, 1]]})")
      .outputs({"y"});
  request["calls"].push_back({{"inputs", {{"x", view(0, "float32", {1}, {1})}}}});
  const auto& observation = request.run();
  EXPECT_EQ(observation["outcome"], "raised");
  EXPECT_EQ(observation["runs"][0]["calls"].size(), 1U);
}

TEST(Program, a_programs_gradient_mode_does_not_cover_the_backward) {
  Request request;
  with_x(request, {1, 2}, /*requires_grad=*/true)
      .step(
          R"({"with": {"grad": true}, "steps": [{"let": ["y"], "op": "aten::exp.default", "args": [{"ref": "x"}]}]})")
      .outputs({"y"});
  request["program"]["context"] = {{"grad", false}, {"deterministic_algorithms", true}};
  request["program"]["backward"] = {{"of", {"y"}}, {"with", "ones"}};
  request.run();
  EXPECT_EQ(request.values<float>(request.call()["grads"]["x"]),
            request.values<float>(request.call()["outputs"]["y"]));
}

TEST(Program, in_place_results_are_the_input_itself) {
  Request request;
  with_x(request, {-1, 2})
      .step(R"({"let": ["y"], "op": "aten::relu_.default", "args": [{"ref": "x"}]})")
      .outputs({"y"});
  request.run();
  EXPECT_EQ(request.call()["outputs"]["y"]["is"], "x");
  EXPECT_EQ(request.values<float>(request.call()["inputs"]["x"]), (Floats{0, 2}));
}

TEST(Program, literals_are_fresh_at_every_execution) {
  Request request;
  const int storage = request.storage<float>({1, 2});
  ASSERT_EQ(storage, 0);
  request
      .step(
          R"({"let": ["t"], "tensor": {"storage": 0, "dtype": "float32", "shape": [2], "strides": [1]}})")
      .step(R"({"let": ["y"], "op": "aten::clone.default", "args": [{"ref": "t"}]})")
      .step(R"({"let": [], "op": "aten::zero_.default", "args": [{"ref": "t"}]})")
      .outputs({"t", "y"});
  request["repeat"] = 2;
  request.run();
  EXPECT_EQ(request.values<float>(request.call(1)["outputs"]["y"]), (Floats{1, 2}));
  EXPECT_EQ(request.values<float>(request.call(1)["outputs"]["t"]), (Floats{0, 0}));
}

TEST(Program, scalars_and_sizes_are_computed_and_used) {
  Request request;
  with_x(request, {1, 2, 3, 4})
      .input("k", 2)
      .step(R"({"let": ["n"], "op": "aten::sym_size.int", "args": [{"ref": "x"}, 0]})")
      .step(R"({"let": ["q"], "scalar": ["sqrt", {"ref": "n"}]})")
      .step(R"({"let": ["m"], "scalar": ["floordiv", {"ref": "n"}, {"ref": "k"}]})")
      .step(R"({"let": ["y"], "op": "aten::mul.Tensor", "args": [{"ref": "x"}, {"ref": "q"}]})")
      .step(
          R"({"let": ["z"], "op": "aten::view.default", "args": [{"ref": "y"}, [{"ref": "m"}, -1]]})")
      .outputs({"z", "n", "q"});
  request.run();
  const auto& outputs = request.call()["outputs"];
  EXPECT_EQ(outputs["z"]["shape"], (std::vector<int>{2, 2}));
  EXPECT_EQ(request.values<float>(outputs["z"]), (Floats{2, 4, 6, 8}));
  EXPECT_EQ(outputs["n"], 4);
  EXPECT_EQ(outputs["q"]["float"], "0x1p+1");
}

TEST(Program, random_operators_repeat_with_the_seed) {
  Request request;
  request.step(R"({"let": ["r"], "op": "aten::rand.default", "args": [[4]]})").outputs({"r"});
  request["repeat"] = 2;
  request["seed"] = 7;
  request.run();
  const auto first = request.values<float>(request.call(0)["outputs"]["r"]);
  EXPECT_EQ(first, request.values<float>(request.call(1)["outputs"]["r"]));
  request["seed"] = 8;
  request.run();
  EXPECT_NE(first, request.values<float>(request.call(0)["outputs"]["r"]));
}

TEST(Program, contexts_hold_for_their_steps_only) {
  Request request;
  with_x(request, {1, 2}, /*requires_grad=*/true)
      .step(
          R"({"with": {"grad": false}, "steps": [{"let": ["a"], "op": "aten::neg.default", "args": [{"ref": "x"}]}]})")
      .step(R"({"let": ["b"], "op": "aten::neg.default", "args": [{"ref": "x"}]})")
      .step(
          R"({"with": {"default_dtype": "float64"}, "steps": [{"let": ["c"], "op": "aten::ones.default", "args": [[2]]}]})")
      .step(R"({"let": ["d"], "op": "aten::ones.default", "args": [[2]]})")
      .outputs({"a", "b", "c", "d"});
  ASSERT_EQ(request.run()["outcome"], "returned");
  const auto& outputs = request.call()["outputs"];
  EXPECT_EQ(outputs["a"]["requires_grad"], false);
  EXPECT_EQ(outputs["b"]["requires_grad"], true);
  EXPECT_EQ(outputs["c"]["dtype"], "float64");
  EXPECT_EQ(outputs["d"]["dtype"], "float32");
}

TEST(Program, autocast_inference_and_deterministic_algorithms) {
  Request request;
  request.input("x", view(request.storage<float>({1, 2, 3, 4}), "float32", {2, 2}, {2, 1}))
      .step(R"({"let": ["y"], "op": "aten::mm.default", "args": [{"ref": "x"}, {"ref": "x"}]})")
      .outputs({"y"});
  request["program"]["context"] = {{"autocast", {{"device", "cpu"}, {"dtype", "bfloat16"}}},
                                   {"inference", true},
                                   {"deterministic_algorithms", true}};
  request.run();
  EXPECT_EQ(request.call()["outputs"]["y"]["dtype"], "bfloat16");
  request["program"]["context"] = {{"tracing", true}};
  EXPECT_EQ(request.run()["reason"], "context tracing");
}

TEST(Program, gradients_inside_and_after) {
  Request request;
  with_x(request, {1, 2, 3}, /*requires_grad=*/true)
      .step(R"({"let": ["y"], "op": "aten::pow.Tensor_Scalar", "args": [{"ref": "x"}, 3]})")
      .step(
          R"({"let": ["g"], "grad": {"of": [{"ref": "y"}], "wrt": [{"ref": "x"}], "with": null, "create_graph": true}})")
      .step(
          R"({"let": ["h"], "grad": {"of": [{"ref": "g"}], "wrt": [{"ref": "x"}], "with": [{"ref": "x"}], "create_graph": true}})")
      .outputs({"g", "h"});
  request["program"]["backward"] = {{"of", {"y"}}, {"with", "ones"}};
  ASSERT_EQ(request.run()["outcome"], "returned") << request.run();
  const auto& call = request.call();
  EXPECT_EQ(request.values<float>(call["outputs"]["g"]), (Floats{3, 12, 27}));
  EXPECT_EQ(request.values<float>(call["outputs"]["h"]), (Floats{6, 24, 54}));
  EXPECT_EQ(request.values<float>(call["grads"]["x"]), (Floats{3, 12, 27}));
}

TEST(Program, an_unused_input_has_no_gradient) {
  Request request;
  with_x(request, {1}, /*requires_grad=*/true);
  nlohmann::json u = view(0, "float32", {1}, {1});
  u["requires_grad"] = true;
  request.input("u", u)
      .step(R"({"let": ["y"], "op": "aten::mul.Tensor", "args": [{"ref": "x"}, 2]})")
      .step(
          R"({"let": ["a", "b"], "grad": {"of": [{"ref": "y"}], "wrt": [{"ref": "x"}, {"ref": "u"}], "create_graph": true}})")
      .outputs({"a", "b"});
  request["program"]["backward"] = {{"of", {"y"}}, {"with", {"x"}}};
  request.run();
  EXPECT_TRUE(request.call()["outputs"]["b"].is_null());
  EXPECT_TRUE(request.call()["grads"]["u"].is_null());
  EXPECT_EQ(request.values<float>(request.call()["grads"]["x"]), Floats{2});
}

TEST(Program, several_calls_each_with_their_own_shapes) {
  Request request;
  with_x(request, {1, 2, 3})
      .step(R"({"let": ["s"], "op": "aten::sum.default", "args": [{"ref": "x"}]})")
      .outputs({"s"});
  request["calls"].push_back({{"inputs", {{"x", view(0, "float32", {2}, {1})}}}});
  const auto& observation = request.run();
  const auto& calls = observation["runs"][0]["calls"];
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(request.values<float>(calls[0]["outputs"]["s"]), Floats{6});
  EXPECT_EQ(request.values<float>(calls[1]["outputs"]["s"]), Floats{3});
}

TEST(Program, errors_have_the_class_that_python_gives_them) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"let": ["y"], "op": "aten::select.int", "args": [{"ref": "x"}, 0, 9]})", "IndexError"},
      {R"({"let": ["y"], "op": "aten::mm.default", "args": [{"ref": "x"}, {"ref": "x"}]})",
       "RuntimeError"},
      {R"({"let": ["y"], "op": "aten::dropout.default", "args": [{"ref": "x"}, 2, true]})",
       "RuntimeError"},
      {R"({"let": ["y"], "op": "aten::relu.default", "args": []})", "TypeError"},
      {R"({"let": ["y"], "op": "aten::relu.default", "args": [{"ref": "x"}, 3]})", "TypeError"},
      {R"({"let": ["a", "b"], "op": "aten::relu.default", "args": [{"ref": "x"}]})", "TypeError"},
      {R"({"let": ["y"], "scalar": ["div", 1, 0]})", "ZeroDivisionError"},
      {R"({"let": ["y"], "op": "aten::linalg_inv.default", "args": [{"ref": "m"}]})",
       "torch._C._LinAlgError"},
  };
  for (const auto& [step, error] : cases) {
    Request request;
    with_x(request, {1, 2});
    request.input("m", view(request.storage<float>({0, 0, 0, 0}), "float32", {2, 2}, {2, 1}))
        .step(step);
    const auto& observation = request.run();
    ASSERT_EQ(observation["outcome"], "raised") << observation;
    EXPECT_EQ(observation["error"]["class"], error) << observation;
    EXPECT_EQ(observation["error"]["stage"], "run");
    EXPECT_EQ(observation["error"]["message"].get<std::string>().find("Exception raised from"),
              std::string::npos);
  }
}

TEST(Errors, a_message_that_was_rethrown_loses_its_backtrace) {
  const std::runtime_error raised(
      "no such size\nException raised from f at a.cpp:1 (most recent call first):\nframe #0: 0x1");
  EXPECT_EQ(message_of(raised), "no such size");
  EXPECT_EQ(message_of(std::runtime_error("two\nlines")), "two\nlines");
}

TEST(Program, what_this_worker_lacks_is_unsupported) {
  for (const char* step :
       {R"({"let": ["y"], "call": "torch.nn.functional.relu", "args": [{"ref": "x"}]})",
        R"({"let": ["y"], "op": "aten::no_such_thing.default", "args": [{"ref": "x"}]})",
        R"({"let": ["y"], "op": "aten::add.NoSuchOverload", "args": [{"ref": "x"}]})",
        R"({"let": ["y"], "op": "aten::from_file.default", "args": [{"str": "secret"}]})",
        R"({"let": [], "op": "aten::set_.source_Storage", "args": [{"ref": "x"}, 0]})",
        R"({"let": [], "op": "aten::record_stream.default", "args": [{"ref": "x"}, 0]})",
        R"({"let": ["y"], "op": "aten::to.dtype", "args": [{"ref": "x"}, {"dtype": "float3"}]})"}) {
    Request request;
    with_x(request, {1}).step(step);
    const auto& observation = request.run();
    EXPECT_EQ(observation["outcome"], "unsupported") << step << observation;
    EXPECT_FALSE(observation["reason"].get<std::string>().empty());
  }
}

TEST(Program, what_breaks_the_protocol_is_malformed) {
  for (const char* step : {R"({"let": ["y"]})", R"({"let": ["y"], "op": "relu"})",
                           R"({"let": ["y"], "op": "aten::relu.default", "args": [{"ref": "z"}]})",
                           R"({"let": ["y"], "get": {"ref": "x"}})"}) {
    Request request;
    with_x(request, {1}).step(step);
    EXPECT_THROW(request.run(), Malformed) << step;
  }
}

// Operators that take sub-programs ---------------------------------------------------------------

/// y = p ? neg(x) : x * x
const char* const kBranch =
    R"({"let": ["y"], "apply": "cond", "args": [{"ref": "x"}], "kwargs": {"pred": {"ref": "p"}},
        "do": {"inputs": ["a"], "steps": [{"let": ["r"], "op": "aten::neg.default", "args": [{"ref": "a"}]}], "outputs": ["r"]},
        "else": {"inputs": ["a"], "steps": [{"let": ["r"], "op": "aten::mul.Tensor", "args": [{"ref": "a"}, {"ref": "x"}]}], "outputs": ["r"]}})";

TEST(Applied, a_branch_is_the_one_that_the_number_says) {
  for (const bool yes : {true, false}) {
    Request request;
    with_x(request, {3, 4}).input("p", yes).step(kBranch).outputs({"y"});
    request.run();
    EXPECT_EQ(request.values<float>(request.call()["outputs"]["y"]),
              yes ? (Floats{-3, -4}) : (Floats{9, 16}));
  }
}

TEST(Applied, a_gold_goes_where_eager_goes_or_is_none) {
  Request request;  // 1e8 + 1 > 1e8 in float64 alone
  with_x(request, {1e8F})
      .step(R"({"let": ["s"], "op": "aten::add.Tensor", "args": [{"ref": "x"}, 1]})")
      .step(R"({"let": ["m"], "op": "aten::gt.Tensor", "args": [{"ref": "s"}, {"ref": "x"}]})")
      .step(R"({"let": ["p"], "op": "aten::any.default", "args": [{"ref": "m"}]})")
      .step(kBranch)
      .outputs({"y"});
  request["mode"] = "fp64";
  EXPECT_EQ(request.run()["reason"], "it takes another branch than eager");
  Request same;
  with_x(same, {3}).input("p", true).step(kBranch).outputs({"y"});
  for (const char* mode : {"fp64", "mpfr", "perturbed", "stepwise", "stepwise_noise"}) {
    same["mode"] = mode;
    ASSERT_EQ(same.run()["outcome"], "returned") << mode;
    EXPECT_TRUE(same.call()["outputs"].contains("y")) << mode;
  }
}

/// n, y = loop while n > 0: n - 1, y + y; at most 3 times.
const char* const kLoop =
    R"({"let": ["n", "y"], "apply": "while_loop", "args": [{"ref": "i"}, {"ref": "x"}], "kwargs": {"most": 3},
        "while": {"inputs": ["k", "a"], "steps": [{"let": ["on"], "op": "aten::gt.Scalar", "args": [{"ref": "k"}, 0]}], "outputs": ["on"]},
        "do": {"inputs": ["k", "a"], "steps": [
          {"let": ["l"], "op": "aten::sub.Tensor", "args": [{"ref": "k"}, 1]},
          {"let": ["b"], "op": "aten::add.Tensor", "args": [{"ref": "a"}, {"ref": "a"}]}], "outputs": ["l", "b"]}})";

TEST(Applied, a_loop_ends_by_its_condition_and_has_a_bound) {
  for (const float times : {0.0F, 1.0F, 3.0F, 4.0F}) {
    Request request;
    with_x(request, {1, 2})
        .input("i", view(request.storage(Floats{times}), "float32", {}, {}))
        .step(kLoop)
        .outputs({"n", "y"});
    const auto& observation = request.run();
    if (times == 4) {
      EXPECT_EQ(observation["error"]["message"], "while_loop: more than 3 iterations");
      continue;
    }
    const float factor = std::exp2(times);
    EXPECT_EQ(request.values<float>(request.call()["outputs"]["y"]), (Floats{factor, 2 * factor}));
    EXPECT_FALSE(request.call()["outputs"]["y"].contains("is")) << "a loop returns no input";
  }
}

TEST(Applied, a_scan_carries_and_stacks) {
  for (const bool reverse : {false, true}) {
    Request request;
    with_x(request, {1, 2, 4})
        .step(R"({"let": ["c"], "op": "aten::zeros.default", "args": [[]]})")
        .step((std::string(R"({"let": ["last", "y"], "apply": "scan", "args": [{"ref": "x"}],
                "kwargs": {"init": [{"ref": "c"}], "reverse": )") +
               (reverse ? "true" : "false") + R"(},
                "do": {"inputs": ["s", "now"], "steps": [
                  {"let": ["t"], "op": "aten::add.Tensor", "args": [{"ref": "s"}, {"ref": "now"}]},
                  {"let": ["u"], "op": "aten::neg.default", "args": [{"ref": "t"}]}], "outputs": ["t", "u"]}})")
                  .c_str())
        .outputs({"last", "y"});
    request.run();
    EXPECT_EQ(request.values<float>(request.call()["outputs"]["last"]), Floats{7});
    EXPECT_EQ(request.values<float>(request.call()["outputs"]["y"]),
              reverse ? (Floats{-7, -6, -4}) : (Floats{-1, -3, -7}));
  }
}

/// y = the sum of the squares of x
#define LOCKSTEP_SQUARES                                                               \
  R"("do": {"inputs": ["a"], "steps": [)"                                              \
  R"({"let": ["q"], "op": "aten::mul.Tensor", "args": [{"ref": "a"}, {"ref": "a"}]},)" \
  R"({"let": ["s"], "op": "aten::sum.default", "args": [{"ref": "q"}]}], "outputs": ["s"]})"

TEST(Applied, gradients_and_derivatives_along_a_direction) {
  for (const bool tracked : {false, true}) {
    Request request;
    with_x(request, {1, 2}, tracked)
        .step(R"({"let": ["g"], "apply": "grad", "args": [{"ref": "x"}], )" LOCKSTEP_SQUARES "}")
        .step(R"({"let": ["y", "d"], "apply": "jvp", "args": [{"ref": "x"}],
               "kwargs": {"tangents": [{"ref": "g"}]}, )" LOCKSTEP_SQUARES "}")
        .outputs({"g", "y", "d"});
    request.run();
    const auto& outputs = request.call()["outputs"];
    EXPECT_EQ(request.values<float>(outputs["g"]), (Floats{2, 4}));
    EXPECT_EQ(outputs["g"].value("requires_grad", false), tracked);
    EXPECT_EQ(request.values<float>(outputs["y"]), Floats{5});
    EXPECT_EQ(request.values<float>(outputs["d"]), Floats{20});
  }
}

TEST(Applied, rows_are_mapped_in_golds_alone) {
  Request request;
  request.input("x", view(request.storage(Floats{1, 2, 3, 4}), "float32", {2, 2}, {2, 1}))
      .step(R"({"let": ["y"], "apply": "vmap", "args": [{"ref": "x"}], )" LOCKSTEP_SQUARES "}")
      .outputs({"y"});
  EXPECT_EQ(request.run()["outcome"], "unsupported");
  request["mode"] = "stepwise";
  ASSERT_EQ(request.run()["outcome"], "returned");
  EXPECT_EQ(request.values<float>(request.call()["outputs"]["y"]), (Floats{5, 25}));
}

}  // namespace
}  // namespace lockstep::eager
