#include "workers/eager/correct.h"

#include <bit>

#include "workers/eager/testing.h"

namespace lockstep::eager {
namespace {

using Doubles = std::vector<double>;

struct StepResult {
  Doubles y;
  nlohmann::json from;
};

/// Runs one step on float64 `x` (and `z`) in a mode.
StepResult one_step(const char* mode, const char* step, const Doubles& x, const Doubles& z = {}) {
  Request request;
  const auto add = [&](const char* name, const Doubles& values) {
    const auto size = static_cast<std::int64_t>(values.size());
    request.input(name, view(request.storage(values), "float64", {size}, {1}));
  };
  add("x", x);
  if (!z.empty()) add("z", z);
  request["mode"] = mode;
  request.step(step).outputs({"y"});
  request.run();
  const auto& call = request.call();
  return {request.values<double>(call["outputs"]["y"]),
          call.contains("from") ? nlohmann::json(call["from"]["outputs"]["y"]) : nullptr};
}

TEST(Correct, elementary_functions_are_rounded_correctly) {
  // exp(x) = 1 + x + x^2/2 + ...: just above the tie between 1 and the next number, just above
  // the one below 1, and hardly above 1.
  const Doubles tiny = {0x1p-53, -0x1p-54, 0x1p-60};
  const StepResult exp = one_step(
      "mpfr", R"({"let": ["y"], "op": "aten::exp.default", "args": [{"ref": "x"}]})", tiny);
  EXPECT_EQ(exp.y, (Doubles{1 + 0x1p-52, 1, 1}));
  EXPECT_EQ(exp.from["by"], correct_by());
  EXPECT_EQ(exp.from["ulp"], 0.5);
}

TEST(Correct, specials_stay_torchs) {
  const double inf = HUGE_VAL;
  const Doubles x = {-inf, inf, NAN, -1, 0, -0.0};
  const auto text = R"({"let": ["y"], "op": "aten::log1p.default", "args": [{"ref": "x"}]})";
  const Doubles expected = one_step("plain", text, x).y;
  const Doubles found = one_step("mpfr", text, x).y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(found[i]), std::bit_cast<std::uint64_t>(expected[i]))
        << x[i];
  }
}

TEST(Correct, every_function_agrees_with_torchs_to_a_few_units) {
  // Where a formula here is wrong, it is wrong by more than torch's kernels err.
  const char* unary[] = {"acos",    "acosh", "asin",        "asinh",    "atan",        "atanh",
                         "cos",     "cosh",  "digamma",     "erf",      "erfc",        "exp",
                         "exp2",    "expm1", "gelu",        "lgamma",   "log",         "log10",
                         "log1p",   "log2",  "log_sigmoid", "logit",    "mish",        "rsqrt",
                         "sigmoid", "silu",  "sin",         "sinc",     "sinh",        "sqrt",
                         "tan",     "tanh",  "elu",         "softplus", "special_entr"};
  const char* binary[] = {"atan2.default",     "hypot.default", "logaddexp.default",
                          "pow.Tensor_Tensor", "xlogy.Tensor",  "special_xlog1py.default"};
  Doubles x, z;
  for (int i = 1; i < 400; ++i) {
    x.push_back(0.017 * i);
    z.push_back(0.31 + 0.0113 * i);
  }
  for (int i = 1; i < 200; ++i) {
    x.push_back(-0.0237 * i);
    z.push_back(0.0173 * i);
  }
  const auto compare = [&](const std::string& op, const Doubles& other) {
    const std::string step = R"({"let": ["y"], "op": "aten::)" + op +
                             R"(", "args": [{"ref": "x"})" +
                             (other.empty() ? "" : R"(, {"ref": "z"})") + "]}";
    const Doubles a = one_step("fp64", step.c_str(), x, other).y;
    const StepResult mpfr = one_step("mpfr", step.c_str(), x, other);
    ASSERT_EQ(mpfr.from["by"], correct_by()) << op;
    const Doubles& b = mpfr.y;
    int changed = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(std::isnan(a[i]), std::isnan(b[i])) << op << " of " << x[i];
      if (!std::isfinite(a[i])) continue;
      EXPECT_NEAR(b[i], a[i], 1e-12 * std::max(1.0, std::fabs(a[i]))) << op << " of " << x[i];
      changed += a[i] != b[i];
    }
    ::testing::Test::RecordProperty(op, changed);
  };
  for (const char* op : unary) compare(std::string(op) + ".default", {});
  for (const char* op : binary) compare(op, z);
}

TEST(Correct, what_is_rounded_more_than_once_is_not_said_to_be_correct) {
  Request request;
  request.input("x", view(request.storage(Doubles{0.5}), "float64", {1}, {1}));
  request["mode"] = "mpfr";
  request.step(R"({"let": ["a"], "op": "aten::exp.default", "args": [{"ref": "x"}]})")
      .step(R"({"let": ["b"], "op": "aten::view.default", "args": [{"ref": "a"}, [1]]})")
      .step(R"({"let": ["c"], "op": "aten::exp.default", "args": [{"ref": "a"}]})")
      .step(R"({"let": ["d"], "op": "aten::mul.Tensor", "args": [{"ref": "x"}, {"ref": "x"}]})")
      .step(R"({"let": ["e"], "op": "aten::special_i0.default", "args": [{"ref": "x"}]})")
      .step(
          R"({"let": ["f"], "op": "aten::add.Tensor", "args": [{"ref": "x"}, {"ref": "x"}], "kwargs": {"alpha": 3}})")
      .outputs({"x", "a", "b", "c", "d", "e", "f"});
  request.run();
  const auto& from = request.call()["from"]["outputs"];
  EXPECT_EQ(from["x"]["ulp"], 0);
  EXPECT_EQ(from["a"]["by"], correct_by());
  EXPECT_EQ(from["b"]["by"], correct_by());
  EXPECT_EQ(from["d"]["by"], "IEEE 754");
  EXPECT_FALSE(from.contains("c"));
  EXPECT_FALSE(from.contains("e"));
  EXPECT_FALSE(from.contains("f"));
}

TEST(Correct, gradients_flow_as_torch_has_them) {
  Request request;
  nlohmann::json x = view(request.storage(Doubles{1}), "float64", {1}, {1});
  x["requires_grad"] = true;
  request.input("x", x);
  request["mode"] = "mpfr";
  request.step(R"({"let": ["y"], "op": "aten::exp.default", "args": [{"ref": "x"}]})")
      .outputs({"y"});
  request["program"]["backward"] = {{"of", {"y"}}, {"with", "ones"}};
  ASSERT_EQ(request.run()["outcome"], "returned") << request.run();
  EXPECT_EQ(request.values<double>(request.call()["grads"]["x"]),
            request.values<double>(request.call()["outputs"]["y"]));
}

}  // namespace
}  // namespace lockstep::eager
