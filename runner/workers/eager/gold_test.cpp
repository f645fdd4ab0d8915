#include "workers/eager/gold.h"

#include <set>

#include "workers/eager/testing.h"

namespace lockstep::eager {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr const char* kToHalf =
    R"({"let": ["h"], "op": "aten::to.dtype", "args": [{"ref": "x"}, {"dtype": "float16"}]})";
constexpr const char* kAndBack =
    R"({"let": ["y"], "op": "aten::to.dtype", "args": [{"ref": "h"}, {"dtype": "float32"}]})";

void with_x(Request& request, const Floats& values, const char* mode, bool requires_grad = false) {
  const auto size = static_cast<std::int64_t>(values.size());
  nlohmann::json x = view(request.storage(values), "float32", {size}, {1});
  x["requires_grad"] = requires_grad;
  request.input("x", x);
  request["mode"] = mode;
}

TEST(Gold, fp64_never_rounds_to_a_narrow_dtype) {
  Request request;
  with_x(request, {1.0F / 7}, "fp64");
  request.step(kToHalf).step(kAndBack).outputs({"y"});
  request.run();
  EXPECT_EQ(request.call()["outputs"]["y"]["dtype"], "float64");
  EXPECT_EQ(request.values<double>(request.call()["outputs"]["y"]), Doubles{1.0F / 7});
}

TEST(Gold, stepwise_keeps_the_casts_of_the_program) {
  Request request;
  with_x(request, {1.0F / 7}, "stepwise");
  request.step(kToHalf).step(kAndBack).outputs({"y"});
  request.run();
  EXPECT_EQ(request.values<float>(request.call()["outputs"]["y"]), Floats{0x1.248p-3F});
}

TEST(Gold, stepwise_rounds_once_for_each_operator) {
  // 2^24 + 1 + 1: float32 sums lose each 1 on its own, one operator in float64 keeps both.
  Request request;
  with_x(request, {16777216, 1, 1}, "stepwise");
  request.step(R"({"let": ["s"], "op": "aten::sum.default", "args": [{"ref": "x"}]})")
      .step(R"({"let": ["a"], "op": "aten::add.Tensor", "args": [{"ref": "x"}, {"ref": "s"}]})")
      .outputs({"s", "a"});
  request.run();
  EXPECT_EQ(request.call()["outputs"]["s"]["dtype"], "float32");
  EXPECT_EQ(request.values<float>(request.call()["outputs"]["s"]), Floats{16777218});
  EXPECT_EQ(request.values<float>(request.call()["outputs"]["a"]),
            (Floats{33554432, 16777220, 16777220}));
}

TEST(Gold, stepwise_brings_operands_to_the_common_dtype_first_as_eager_does) {
  const auto result = [](const char* mode, const char* op, const char* other) {
    Request request;
    // bfloat16 -1.703125 and 1.
    request.input("x", view(request.storage<std::uint16_t>({0xbfda, 0x3f80}), "bfloat16", {2}, {1}))
        .input("n", view(request.storage<std::int64_t>({257}), "int64", {1}, {1}))
        .input("z", view(request.storage<float>({1.7F}), "float32", {}, {}));
    request["mode"] = mode;
    const std::string step = std::string(R"({"let": ["y"], "op": ")") + op +
                             R"(", "args": [{"ref": "x"}, )" + other + "]}";
    request.step(step.c_str()).outputs({"y"});
    request.run();
    return request.values<std::uint16_t>(request.call()["outputs"]["y"]);
  };
  for (const char* other :
       {R"({"float": "0x1.b333333333333p+0"})", R"({"ref": "z"})", "257", R"({"ref": "n"})"}) {
    for (const char* op : {"aten::add.Tensor", "aten::mul.Tensor", "aten::div.Tensor"}) {
      EXPECT_EQ(result("stepwise", op, other), result("plain", op, other)) << op << other;
    }
  }
  // 1.7 is 1.703125 in bfloat16.
  EXPECT_EQ(result("stepwise", "aten::add.Tensor", R"({"float": "0x1.b333333333333p+0"})")[0], 0);
}

TEST(Gold, stepwise_writes_mutations_back_through_views) {
  Request request;
  with_x(request, {1, 2, 3, 4}, "stepwise");
  request
      .step(R"({"let": ["v"], "op": "aten::slice.Tensor", "args": [{"ref": "x"}, 0, 0, null, 2]})")
      .step(R"({"let": ["w"], "op": "aten::div_.Tensor", "args": [{"ref": "v"}, 3]})")
      .step(R"({"let": [], "set": {"ref": "x"}, "index": [1], "to": 9})")
      .outputs({"w"});
  request.run();
  const auto& call = request.call();
  EXPECT_EQ(call["outputs"]["w"]["storage"], call["inputs"]["x"]["storage"]);
  EXPECT_EQ(request.values<float>(call["inputs"]["x"]), (Floats{1.0F / 3, 9, 1, 4}));
}

TEST(Gold, perturbed_moves_floating_inputs_by_one_ulp_and_nothing_else) {
  const auto observed = [](const char* mode) {
    Request request;
    const Floats values(64, 1.5F);
    with_x(request, values, mode);
    request.input("n", view(request.storage(std::vector<std::int64_t>{7}), "int64", {1}, {1}));
    const int literal = request.storage(Floats{1.5F});
    const nlohmann::json t = {{"let", {"t"}}, {"tensor", view(literal, "float32", {1}, {1})}};
    request.step(t.dump().c_str())
        .step(R"({"let": ["y"], "op": "aten::clone.default", "args": [{"ref": "x"}]})")
        .outputs({"y", "n", "t"});
    request.run();
    const auto& outputs = request.call()["outputs"];
    EXPECT_EQ(outputs["y"]["dtype"], "float64");
    EXPECT_EQ(request.values<std::int64_t>(outputs["n"]), std::vector<std::int64_t>{7});
    EXPECT_EQ(request.values<double>(outputs["t"]), Doubles{1.5});
    return request.values<double>(outputs["y"]);
  };
  const Doubles moved = observed("perturbed");
  int up = 0;
  for (const double value : moved) {
    EXPECT_EQ(std::fabs(value - 1.5), 0x1p-23);
    up += value > 1.5;
  }
  EXPECT_GT(up, 16);  // both ways
  EXPECT_LT(up, 48);
  EXPECT_EQ(observed("perturbed"), moved);
  EXPECT_EQ(observed("fp64"), Doubles(64, 1.5));
}

TEST(Gold, tuples_lists_and_out_arguments) {
  for (const char* mode : {"fp64", "stepwise"}) {
    Request request;
    // Divisions: IEEE 754 rounds them correctly, and the libraries of elementary functions differ.
    with_x(request, {2, 3, 4}, mode);
    request
        .step(R"({"let": ["v", "m"], "op": "aten::var_mean.correction", "args": [{"ref": "x"}]})")
        .step(
            R"({"let": ["a", "b"], "op": "aten::_foreach_reciprocal.default", "args": [[{"ref": "m"}, {"ref": "v"}]]})")
        .step(R"({"let": ["o"], "op": "aten::empty.memory_format", "args": [[0]]})")
        .step(
            R"({"let": [], "op": "aten::reciprocal.out", "args": [{"ref": "x"}], "kwargs": {"out": {"ref": "o"}}})")
        .outputs({"a", "b", "o"});
    const auto& observation = request.run();
    ASSERT_EQ(observation["outcome"], "returned") << observation;
    const auto& outputs = request.call()["outputs"];
    EXPECT_EQ(outputs["o"]["shape"], std::vector<int>{3});
    if (std::string(mode) == "fp64") {
      EXPECT_EQ(request.values<double>(outputs["a"]), Doubles{1.0 / 3});
      EXPECT_EQ(request.values<double>(outputs["o"]), (Doubles{0.5, 1.0 / 3, 0.25}));
    } else {
      EXPECT_EQ(request.values<float>(outputs["a"]), Floats{1.0F / 3});
      EXPECT_EQ(request.values<float>(outputs["o"]), (Floats{0.5F, 1.0F / 3, 0.25F}));
    }
  }
}

TEST(Gold, running_statistics_are_written_though_the_schema_does_not_say_so) {
  Request request;
  request.input("x", view(request.storage<float>({1, 3}), "float32", {2, 1}, {1, 1}))
      .input("mean", view(request.storage<float>({0}), "float32", {1}, {1}))
      .input("var", view(request.storage<float>({1}), "float32", {1}, {1}))
      .step(
          R"({"let": [null, null, null], "op": "aten::native_batch_norm.default", "args": [{"ref": "x"}, null, null, {"ref": "mean"}, {"ref": "var"}, true, {"float": "0x1p-1"}, {"float": "0x0p+0"}]})");
  request["mode"] = "stepwise";
  ASSERT_EQ(request.run()["outcome"], "returned") << request.run();
  EXPECT_EQ(request.values<float>(request.call()["inputs"]["mean"]), Floats{1});
  EXPECT_EQ(request.values<float>(request.call()["inputs"]["var"]), Floats{1.5F});
}

TEST(Gold, gradients) {
  for (const char* mode : {"fp64", "stepwise"}) {
    Request request;
    with_x(request, {0.5F, 3}, mode, /*requires_grad=*/true);
    request.step(R"({"let": ["y"], "op": "aten::log.default", "args": [{"ref": "x"}]})")
        .outputs({"y"});
    request["program"]["backward"] = {{"of", {"y"}}, {"with", "ones"}};
    ASSERT_EQ(request.run()["outcome"], "returned") << request.run();
    const auto& grad = request.call()["grads"]["x"];
    if (std::string(mode) == "fp64") {
      EXPECT_EQ(request.values<double>(grad), (Doubles{2, 1.0 / 3}));
    } else {
      EXPECT_EQ(request.values<float>(grad), (Floats{2, 1.0F / 3}));
    }
  }
}

TEST(Gold, factories_and_division_of_ints_follow_the_mode) {
  for (const char* mode : {"fp64", "stepwise"}) {
    Request request;
    request.input("i", view(request.storage<std::int64_t>({1}), "int64", {1}, {1}));
    request["mode"] = mode;
    request.step(R"({"let": ["q"], "op": "aten::div.Tensor", "args": [{"ref": "i"}, 3]})")
        .step(
            R"({"let": ["f"], "op": "aten::full.default", "args": [[1], {"float": "0x1.999999999999ap-4"}]})")
        .outputs({"q", "f"});
    request.run();
    const bool wide = std::string(mode) == "fp64";
    for (const char* name : {"q", "f"}) {
      EXPECT_EQ(request.call()["outputs"][name]["dtype"], wide ? "float64" : "float32");
    }
    if (wide) {
      EXPECT_EQ(request.values<double>(request.call()["outputs"]["q"]), Doubles{1.0 / 3});
    }
  }
}

TEST(Gold, random_factories_draw_the_numbers_of_the_plain_execution) {
  std::vector<Doubles> drawn;
  for (const char* mode : {"plain", "fp64", "stepwise"}) {
    Request request;
    request["mode"] = mode;
    request["seed"] = 3;
    request.step(R"({"let": ["r"], "op": "aten::randn.default", "args": [[4]]})").outputs({"r"});
    request.run();
    const auto& view = request.call()["outputs"]["r"];
    if (view["dtype"] == "float64") {
      drawn.push_back(request.values<double>(view));
    } else {
      const Floats floats = request.values<float>(view);
      drawn.emplace_back(floats.begin(), floats.end());
    }
  }
  EXPECT_EQ(drawn[0], drawn[1]);
  EXPECT_EQ(drawn[0], drawn[2]);
}

constexpr const char* kBernoulli =
    R"({"let": ["d"], "op": "aten::bernoulli.default", "args": [{"ref": "x"}]})";

TEST(Gold, dropout_multiplies_the_gold_by_what_plain_eager_keeps) {
  const Floats x = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const char* op :
       {"aten::dropout.default", "aten::dropout_.default", "aten::native_dropout.default"}) {
    const auto observed = [&](const char* mode) {
      Request request;
      with_x(request, x, mode);
      const bool two = std::string_view(op) == "aten::native_dropout.default";
      const nlohmann::json step = {
          {"let", two ? nlohmann::json{"d", "m"} : nlohmann::json{"d"}},
          {"op", op},
          {"args", {{{"ref", "x"}}, {{"float", "0x1.3333333333333p-2"}}, true}}};  // 0.3
      request.step(step.dump().c_str())
          .step(R"({"let": ["r"], "op": "aten::rand.default", "args": [[2]]})")
          .outputs({"d", "r"});
      request.run();
      const auto& d = request.call()["outputs"]["d"];
      Doubles numbers;
      if (d["dtype"] == "float64") {
        numbers = request.values<double>(d);
      } else {
        for (const float each : request.values<float>(d)) numbers.push_back(each);
      }
      return numbers;
    };
    const Doubles plain = observed("plain"), wide = observed("fp64");
    ASSERT_EQ(wide.size(), x.size()) << op;
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(wide[i] != 0, plain[i] != 0) << op;
      EXPECT_DOUBLE_EQ(wide[i], plain[i] == 0 ? 0 : x[i] / 0.7) << op;
    }
    EXPECT_EQ(observed("stepwise"), plain) << op;
    const Doubles noise = observed("fp64_noise");
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(noise[i], plain[i], 3e-6) << op;
  }
}

TEST(Gold, what_cannot_be_widened_is_lost_and_all_that_hangs_on_it) {
  for (const char* mode : {"fp64", "stepwise"}) {
    Request request;
    with_x(request, {0.5, 1}, mode, /*requires_grad=*/true);
    request.step(kBernoulli)
        .step(R"({"let": ["y"], "op": "aten::neg.default", "args": [{"ref": "d"}]})")
        .step(R"({"let": ["z"], "op": "aten::neg.default", "args": [{"ref": "x"}]})")
        .step(R"({"let": ["r"], "op": "aten::rand.default", "args": [[2]]})")
        .outputs({"y", "z", "r"});
    request["program"]["backward"] = {{"of", {"y"}}, {"with", "ones"}};
    ASSERT_EQ(request.run()["outcome"], "returned") << mode << request.run();
    const auto& call = request.call();
    EXPECT_FALSE(call["outputs"].contains("y"));
    EXPECT_TRUE(call["outputs"].contains("z"));
    EXPECT_EQ(call["lost"]["outputs"]["y"],
              std::string(mode) + " of aten::bernoulli: it would draw other numbers");
    EXPECT_EQ(call["lost"]["grads"]["x"], call["lost"]["outputs"]["y"]);
    EXPECT_TRUE(call["grads"].empty());
  }
  Request unknown;
  with_x(unknown, {1}, "fp128");
  EXPECT_EQ(unknown.run()["reason"], "mode fp128");
}

TEST(Gold, what_is_drawn_behind_a_lost_step_is_what_plain_eager_draws) {
  std::vector<Doubles> drawn;
  for (const char* mode : {"plain", "fp64", "stepwise"}) {
    Request request;
    with_x(request, {0.5, 1}, mode);
    request.step(kBernoulli)
        .step(R"({"let": ["l"], "op": "aten::rand_like.default", "args": [{"ref": "x"}]})")
        .step(R"({"let": ["n"], "op": "aten::normal_.default", "args": [{"ref": "x"}]})")
        .step(R"({"let": ["r"], "op": "aten::rand.default", "args": [[2]]})")
        .outputs({"l", "r"});
    request.run();
    Doubles all;
    const auto& call = request.call();
    for (const auto& view : {call["outputs"]["l"], call["outputs"]["r"], call["inputs"]["x"]}) {
      ASSERT_FALSE(view.is_null()) << mode;
      if (view["dtype"] == "float64") {
        const Doubles more = request.values<double>(view);
        all.insert(all.end(), more.begin(), more.end());
      } else {
        const Floats more = request.values<float>(view);
        all.insert(all.end(), more.begin(), more.end());
      }
    }
    drawn.push_back(all);
  }
  EXPECT_EQ(drawn[0], drawn[1]);
  EXPECT_EQ(drawn[0], drawn[2]);
}

TEST(Gold, a_random_operator_that_draws_nothing_is_computed) {
  for (const char* mode : {"fp64", "stepwise"}) {
    Request request;
    const int storage = request.storage(Floats{1, 2, 3, 4});
    request.input("q", view(storage, "float32", {1, 2, 2}, {4, 2, 1}));
    request["mode"] = mode;
    request
        .step(
            R"({"let": ["y"], "op": "aten::scaled_dot_product_attention.default", "args": [{"ref": "q"}, {"ref": "q"}, {"ref": "q"}]})")
        .outputs({"y"});
    ASSERT_EQ(request.run()["outcome"], "returned") << request.run();
    EXPECT_FALSE(request.call().contains("lost")) << request.call();
  }
}

TEST(Gold, what_a_lost_step_would_have_written_is_lost) {
  Request request;
  with_x(request, {1, 2}, "fp64");
  request.input("z", view(request.storage(Floats{1, 2}), "float32", {2}, {1}))
      .step(R"({"let": ["v"], "op": "aten::view.default", "args": [{"ref": "x"}, [2]]})")
      .step(
          R"({"let": ["b"], "op": "aten::view.dtype", "args": [{"ref": "v"}, {"dtype": "int32"}]})")
      .step(R"({"let": ["w"], "op": "aten::neg.default", "args": [{"ref": "x"}]})")
      .step(R"({"let": [null], "op": "aten::add_.Scalar", "args": [{"ref": "b"}, 1]})")
      .step(R"({"let": ["y"], "op": "aten::neg.default", "args": [{"ref": "x"}]})")
      .step(
          R"({"let": [], "set": {"ref": "z"}, "index": [{"ellipsis": true}], "to": {"ref": "y"}})")
      .outputs({"b", "w", "y"});
  ASSERT_EQ(request.run()["outcome"], "returned") << request.run();
  const auto& call = request.call();
  EXPECT_TRUE(call["outputs"].contains("w"));
  EXPECT_EQ(call["lost"]["outputs"].size(), 2);
  EXPECT_EQ(call["lost"]["inputs"].size(), 2) << call;
}

TEST(Gold, an_input_that_cannot_be_widened_is_lost_alone) {
  Request shared;
  with_x(shared, {1, 2}, "fp64");
  shared.input("i", view(0, "int32", {2}, {1}))
      .input("z", view(shared.storage(Floats{1, 2}), "float32", {2}, {1}))
      .step(R"({"let": ["y"], "op": "aten::neg.default", "args": [{"ref": "z"}]})")
      .step(R"({"let": [null], "op": "aten::add_.Scalar", "args": [{"ref": "x"}, 1]})")
      .outputs({"y"});
  ASSERT_EQ(shared.run()["outcome"], "returned") << shared.run();
  EXPECT_TRUE(shared.call()["outputs"].contains("y"));
  // Which of the two is built first says the order of names: both are one memory.
  EXPECT_EQ(shared.call()["lost"]["inputs"].size(), 2) << shared.call();
}

TEST(Gold, bits_of_floats_are_those_of_the_rounded_value) {
  Request request;
  with_x(request, {2, 3}, "fp64");
  request.step(R"({"let": ["r"], "op": "aten::reciprocal.default", "args": [{"ref": "x"}]})")
      .step(
          R"({"let": ["b"], "op": "aten::view.dtype", "args": [{"ref": "r"}, {"dtype": "int32"}]})")
      .step(
          R"({"let": ["f"], "op": "aten::view.dtype", "args": [{"ref": "b"}, {"dtype": "float32"}]})")
      .outputs({"b", "f"});
  ASSERT_EQ(request.run()["outcome"], "returned") << request.run();
  const auto& outputs = request.call()["outputs"];
  EXPECT_EQ(request.values<std::int32_t>(outputs["b"]),
            (std::vector<std::int32_t>{0x3f000000, 0x3eaaaaab}));
  EXPECT_EQ(request.values<double>(outputs["f"]), (Doubles{0.5, 1.0F / 3}));
}

TEST(Gold, a_cast_that_nobody_defines_has_another_result_on_moved_inputs) {
  const auto cast = [](const char* mode, const char* dtype) {
    Request request;
    with_x(request, {1e30F, NAN, -1.5F, 300, 7.5F}, mode);
    const std::string step =
        std::string(
            R"({"let": ["y"], "op": "aten::to.dtype", "args": [{"ref": "x"}, {"dtype": ")") +
        dtype + R"("}]})";
    request.step(step.c_str()).outputs({"y"});
    request.run();
    return request.values<std::uint8_t>(request.call()["outputs"]["y"]);
  };
  EXPECT_EQ(cast("fp64", "uint8"), (std::vector<std::uint8_t>{0, 0, 0, 0, 7}));
  EXPECT_EQ(cast("perturbed", "uint8"), (std::vector<std::uint8_t>{1, 1, 1, 1, 7}));
  EXPECT_EQ(cast("fp64", "int8"), (std::vector<std::uint8_t>{0, 0, 255, 0, 7}));
}

TEST(Gold, autocast_casts_the_operands_of_what_it_knows) {
  // 1 + 2^-9 is 1 in bfloat16, so its square is, too, and so is the gradient 2x; neg stays as it
  // is.  A sample has the other neighbour of x, or of the gradient, sometimes.
  const char* within = R"({"with": {"autocast": {"device": "cpu", "dtype": "bfloat16"}}, "steps": [
      {"let": ["b"], "op": "aten::neg.default", "args": [{"ref": "x"}]},
      {"let": ["c"], "op": "aten::mm.default", "args": [{"ref": "x"}, {"ref": "x"}]}]})";
  std::set<std::uint16_t> squares;
  std::set<float> slopes;
  for (const char* mode : {"stepwise", "fp64_noise"}) {
    Request request;
    request["mode"] = mode;
    nlohmann::json x = view(request.storage<float>({1 + 0x1p-9F}), "float32", {1, 1}, {1, 1});
    x["requires_grad"] = true;
    request.input("x", x).step(within).outputs({"b", "c"});
    request["program"]["backward"] = {{"of", {"c"}}};
    const bool exact = std::string_view(mode) == "stepwise";
    ASSERT_EQ(request.run()["outcome"], "returned") << request.run();
    for (int run = 0; run < (exact ? 1 : kNoiseSamples); ++run) {
      const auto& call = request.call(run);
      EXPECT_EQ(request.values<float>(call["outputs"]["b"]), (Floats{-1 - 0x1p-9F}));
      EXPECT_EQ(call["outputs"]["c"]["dtype"], "bfloat16");
      const auto square = request.values<std::uint16_t>(call["outputs"]["c"]).at(0);
      const float slope = request.values<float>(call["grads"]["x"]).at(0);
      if (exact) {
        EXPECT_EQ(square, 0x3f80);
        EXPECT_EQ(slope, 2);
      }
      squares.insert(square);
      slopes.insert(slope);
    }
  }
  EXPECT_GT(squares.size(), 1U);
  EXPECT_GT(slopes.size(), 1U);
}

TEST(Gold, what_is_drawn_behind_autocast_is_what_plain_eager_draws) {
  std::vector<Floats> drawn;
  for (const char* mode : {"plain", "stepwise"}) {
    Request request;
    request["mode"] = mode;
    request
        .step(
            R"({"with": {"autocast": {"device": "cpu", "dtype": "bfloat16"}}, "steps": [{"let": ["a"], "op": "aten::rand.default", "args": [[3]]}]})")
        .step(R"({"let": ["b"], "op": "aten::rand.default", "args": [[3]]})")
        .outputs({"b"});
    request.run();
    drawn.push_back(request.values<float>(request.call()["outputs"]["b"]));
  }
  EXPECT_EQ(drawn[0], drawn[1]);
}

TEST(Gold, stepwise_gradients_are_those_of_rounded_results) {
  // The backward of exp multiplies by its result: e^0.1 in bfloat16 is 1.1015625.
  std::vector<std::vector<std::uint16_t>> gradients;
  for (const char* mode : {"plain", "stepwise"}) {
    Request request;
    nlohmann::json x = view(request.storage<std::uint16_t>({0x3dcd}), "bfloat16", {1}, {1});
    x["requires_grad"] = true;
    request.input("x", x);
    request["mode"] = mode;
    request.step(R"({"let": ["e"], "op": "aten::exp.default", "args": [{"ref": "x"}]})")
        .step(R"({"let": ["y"], "op": "aten::mul.Tensor", "args": [{"ref": "e"}, 257]})")
        .outputs({"y"});
    request["program"]["backward"] = {{"of", {"y"}}, {"with", "ones"}};
    request.run();
    gradients.push_back(request.values<std::uint16_t>(request.call()["grads"]["x"]));
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST(Gold, an_error_of_the_program_itself_is_still_raised_stepwise) {
  Request request;
  with_x(request, {1, 2}, "stepwise");
  request.step(R"({"let": ["y"], "op": "aten::mm.default", "args": [{"ref": "x"}, {"ref": "x"}]})");
  EXPECT_EQ(request.run()["outcome"], "raised");
}

}  // namespace
}  // namespace lockstep::eager
