#include "workers/eager/noise.h"

#include <ATen/ATen.h>

#include <set>

#include "workers/eager/gold.h"
#include "workers/eager/testing.h"

namespace lockstep::eager {
namespace {

using Of = Noise::Of;
using Doubles = std::vector<double>;

TEST(Noise, rounding_takes_one_of_the_two_neighbours) {
  for (const auto type : {at::kHalf, at::kBFloat16, at::kFloat}) {
    // A third has no end in base 2; 3e-6 is subnormal in float16.
    for (const double value : {1.0 / 3, -1.0 / 3, 3e-6}) {
      const at::Tensor wide = at::full({64}, value, at::kDouble);
      const at::Tensor result = Noise(Of::rounding, 0).round(wide, type).to(at::kDouble);
      const double nearest = wide.to(type).to(at::kDouble)[0].item<double>();
      const double least = result.min().item<double>(), most = result.max().item<double>();
      EXPECT_LT(least, value) << type;
      EXPECT_GT(most, value) << type;
      EXPECT_TRUE(nearest == least || nearest == most) << type;
      EXPECT_TRUE(result.eq(least).logical_or(result.eq(most)).all().item<bool>()) << type;
    }
  }
}

TEST(Noise, what_the_dtype_holds_stays) {
  const at::Tensor held = at::tensor({0.0, -0.0, 1.0, -2.5, 65504.0, 0x1p-24, INFINITY, NAN});
  for (const Of of : {Of::rounding, Of::kernels}) {
    for (const auto type : {at::kHalf, at::kFloat, at::kDouble}) {
      const at::Tensor result = Noise(of, 3).round(held, type);
      EXPECT_EQ(result.scalar_type(), type);
      EXPECT_TRUE(at::equal(result.nan_to_num(7).signbit(), held.nan_to_num(7).signbit()));
      EXPECT_TRUE(at::equal(result.to(at::kDouble).nan_to_num(7), held.nan_to_num(7)));
    }
    const at::Tensor third = at::full({8}, 1.0 / 3, at::kDouble);
    const at::Tensor moved = (Noise(of, 3).round(third, at::kDouble) - third).abs();
    EXPECT_TRUE(moved.eq(0x1p-54).all().item<bool>()) << "a unit of float64";
    EXPECT_TRUE(at::equal(Noise(of, 3).round(third, at::kLong), at::zeros({8}, at::kLong)));
  }
  EXPECT_TRUE(holds_exactly(at::kHalf, held));
  EXPECT_FALSE(holds_exactly(at::kHalf, at::full({1}, 1.0 / 3, at::kDouble)));
}

TEST(Noise, kernels_turn_what_is_near_a_tie_and_nothing_else) {
  at::manual_seed(0);
  const at::Tensor wide = at::rand({1 << 16}, at::kDouble);
  for (const auto& [type, least, most] :
       {std::tuple(at::kHalf, 0.002, 0.01), std::tuple(at::kBFloat16, 2e-4, 2e-3)}) {
    const at::Tensor turned = Noise(Of::kernels, 0).round(wide, type).ne(wide.to(type));
    const double share = turned.to(at::kDouble).mean().item<double>();
    EXPECT_GT(share, least) << type;
    EXPECT_LT(share, most) << type;
  }
}

TEST(Noise, hangs_on_the_sample_and_on_the_order_of_calls_alone) {
  const at::Tensor wide = at::full({64}, 1.0 / 3, at::kDouble);
  std::set<std::vector<float>> seen;
  for (std::uint64_t sample = 0; sample < 8; ++sample) {
    Noise noise(Of::rounding, sample), same(Of::rounding, sample);
    const at::Tensor first = noise.round(wide, at::kFloat);
    EXPECT_TRUE(at::equal(first, same.round(wide, at::kFloat)));
    EXPECT_FALSE(at::equal(first, noise.round(wide, at::kFloat)));
    seen.emplace(first.const_data_ptr<float>(), first.const_data_ptr<float>() + 64);
  }
  EXPECT_EQ(seen.size(), 8u);
}

TEST(Noise, gradients_are_rounded_like_results) {
  const at::Tensor x = at::full({64}, 3.0, at::kHalf).requires_grad_();
  Noise noise(Of::rounding, 0);
  const at::Tensor y = noise.round(noise.widen(x, at::kDouble) / 3, at::kHalf);
  EXPECT_TRUE(y.eq(1).all().item<bool>()) << "exact";
  y.sum().backward();
  EXPECT_EQ(x.grad().scalar_type(), at::kHalf);
  const at::Tensor grad = x.grad().to(at::kDouble);
  EXPECT_LT(grad.min().item<double>(), 1.0 / 3);
  EXPECT_GT(grad.max().item<double>(), 1.0 / 3);
}

TEST(Noise, operands_move_by_a_unit_of_the_dtype_of_the_sum) {
  const at::Tensor wide = at::full({64}, 1.0, at::kDouble);
  const at::Tensor by = (Noise(Of::rounding, 0).move(wide, at::kFloat) - wide).abs();
  EXPECT_TRUE(by.eq(0x1p-23).all().item<bool>()) << "a unit of float32";
  const at::Tensor of_double = (Noise(Of::rounding, 0).move(wide, at::kDouble) - wide).abs();
  EXPECT_TRUE(of_double.eq(0x1p-52).all().item<bool>());
}

TEST(Noise, complex_numbers_are_rounded_by_parts) {
  const at::Tensor wide =
      at::complex(at::full({64}, 1.0 / 3, at::kDouble), at::zeros({64}, at::kDouble));
  const at::Tensor result = at::view_as_real(Noise(Of::rounding, 0).round(wide, at::kComplexFloat));
  EXPECT_NE(result.select(1, 0).min().item<float>(), result.select(1, 0).max().item<float>());
  EXPECT_TRUE(result.select(1, 1).eq(0).all().item<bool>());
}

Request& halves(Request& request, const char* mode) {
  request.input("x", view(request.storage<std::uint16_t>({0x3c00, 0x4000, 0x4200}), "float16", {3},
                          {1}));  // 1, 2, 3
  request["mode"] = mode;
  return request;
}

TEST(Noise, every_sample_is_a_run) {
  for (const char* mode : {"fp64_noise", "stepwise_noise"}) {
    Request request;
    halves(request, mode)
        .step(R"({"let": ["s"], "op": "aten::sum.default", "args": [{"ref": "x"}]})")
        .step(R"({"let": ["y"], "op": "aten::div.Scalar", "args": [{"ref": "x"}, 7]})")
        .outputs({"s", "y"});
    const auto& runs = request.run()["runs"];
    ASSERT_EQ(runs.size(), static_cast<std::size_t>(kNoiseSamples));
    std::set<std::vector<std::uint16_t>> quotients;
    for (const auto& run : runs) {
      const auto& outputs = run["calls"][0]["outputs"];
      EXPECT_EQ(request.values<std::uint16_t>(outputs["s"])[0], 0x4600) << "1 + 2 + 3 is exact";
      quotients.insert(request.values<std::uint16_t>(outputs["y"]));
    }
    EXPECT_GT(quotients.size(), std::string_view(mode) == "fp64_noise" ? 2u : 0u);
  }
}

TEST(Noise, what_selects_numbers_of_float64_rounds_nothing) {
  Request request;
  request.input("x", view(request.storage<double>({0.1, -0.3, 0.2}), "float64", {3}, {1}));
  request["mode"] = "fp64_noise";
  request.step(R"({"let": ["a"], "op": "aten::amax.default", "args": [{"ref": "x"}]})")
      .step(R"({"let": ["b"], "op": "aten::abs.default", "args": [{"ref": "x"}]})")
      .step(R"({"let": ["c"], "op": "aten::div.Scalar", "args": [{"ref": "x"}, 7]})")
      .outputs({"a", "b", "c"});
  std::set<Doubles> quotients;
  for (const auto& run : request.run()["runs"]) {
    const auto& outputs = run["calls"][0]["outputs"];
    EXPECT_EQ(request.values<double>(outputs["a"]), Doubles{0.2});
    EXPECT_EQ(request.values<double>(outputs["b"]), (Doubles{0.1, 0.3, 0.2}));
    quotients.insert(request.values<double>(outputs["c"]));
  }
  EXPECT_GT(quotients.size(), 2u);
}

TEST(Noise, reaches_gradients_that_are_zero_but_for_rounding) {
  // The backward of softmax subtracts sum(y) = 1 from 1, but y is rounded to bfloat16.
  Request request;
  nlohmann::json x =
      view(request.storage<std::uint16_t>({0x3dcd, 0x3e4d, 0x3e9a}), "bfloat16", {3}, {1});
  x["requires_grad"] = true;
  request.input("x", x);
  request["mode"] = "fp64_noise";
  request.step(R"({"let": ["y"], "op": "aten::softmax.int", "args": [{"ref": "x"}, 0]})")
      .outputs({"y"});
  request["program"]["backward"] = {{"of", {"y"}}, {"with", "ones"}};
  float greatest = 0;
  for (const auto& run : request.run()["runs"]) {
    for (const std::uint16_t bits : request.values<std::uint16_t>(run["calls"][0]["grads"]["x"])) {
      greatest = std::max(
          greatest, std::abs(static_cast<float>(c10::BFloat16(bits, c10::BFloat16::from_bits()))));
    }
  }
  EXPECT_GT(greatest, 1e-4F);
  EXPECT_LT(greatest, 1e-2F);
}

TEST(Noise, is_there_under_autocast) {
  Request request;
  request.input("x",
                view(request.storage<float>({0.1F, 0.2F, 0.3F, 0.4F}), "float32", {2, 2}, {2, 1}));
  request["mode"] = "fp64_noise";
  request
      .step(
          R"({"with": {"autocast": {"device": "cpu", "dtype": "bfloat16"}}, "steps": [{"let": ["y"], "op": "aten::mm.default", "args": [{"ref": "x"}, {"ref": "x"}]}]})")
      .outputs({"y"});
  const auto& call = request.run()["runs"][0]["calls"][0];
  EXPECT_EQ(call["outputs"]["y"]["dtype"], "bfloat16") << call.dump();
}

TEST(Noise, of_a_cast_that_is_not_defined_is_another_number) {
  const auto cast = [](const char* mode) {
    Request request;
    request.input("x", view(request.storage<float>({NAN, 1e30F, 7}), "float32", {3}, {1}));
    request["mode"] = mode;
    request
        .step(
            R"({"let": ["y"], "op": "aten::to.dtype", "args": [{"ref": "x"}, {"dtype": "int32"}]})")
        .outputs({"y"});
    const auto& observation = request.run();
    return request.values<std::int32_t>(observation["runs"][0]["calls"][0]["outputs"]["y"]);
  };
  EXPECT_EQ(cast("fp64"), (std::vector<std::int32_t>{0, 0, 7}));
  EXPECT_EQ(cast("fp64_noise"), (std::vector<std::int32_t>{1, 1, 7}));
}

}  // namespace
}  // namespace lockstep::eager
