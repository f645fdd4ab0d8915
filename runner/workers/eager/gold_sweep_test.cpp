#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "workers/eager/gold.h"
#include "workers/eager/operators.h"

// The stepwise gold must round where eager does. It equals eager's result to the bit, for every
// pointwise operator of this torch and every bit pattern of 16 bits, also with numbers that no
// narrow dtype has. A list has the exceptions.
namespace lockstep::eager {
namespace {

using c10::IValue;
using c10::ScalarType;
using torch::jit::Stack;

constexpr std::int64_t kPatterns = 65536;

/// An operator whose own kernel gives other numbers than its exact result rounded once.
struct Divergence {
  std::string_view name;  ///< base name, any overload
  std::int64_t most;      ///< elements of 65,536, of either dtype
  std::string_view why;
};

// How many elements fall on the other side hangs on the vector instructions.
constexpr std::int64_t kFew = 64;
constexpr std::string_view kTies =
    "float32 kernels of elementary functions err by a few units of the last place: the truth lies "
    "that near to a tie of the dtype";
constexpr std::string_view kAbsolute =
    "its float32 kernel has a small absolute error, which is a large relative one near a zero";
constexpr std::string_view kNarrow = "it rounds to the dtype between its steps";

constexpr std::array kDivergences = std::to_array<Divergence>({
    {"acos", kFew, kTies},
    {"acosh", kFew, kTies},
    {"asin", kFew, kTies},
    {"asinh", kFew, kTies},
    {"atan", kFew, kTies},
    {"atan2", kFew, kTies},
    {"atanh", kFew, kTies},
    {"celu", kFew, kTies},
    {"cos", kFew, kTies},
    {"cosh", kFew, kTies},
    {"digamma", kFew, kTies},
    {"div", kPatterns, kNarrow},
    {"divide", kPatterns, kNarrow},
    {"erf", kPatterns, kAbsolute},
    {"erfc", kFew, kTies},
    {"exp", kFew, kTies},
    {"exp2", kFew, kTies},
    {"expm1", kFew, kTies},
    {"fmax", 512, "a signalling NaN, which it passes on, is quiet once it is widened"},
    {"fmin", 512, "a signalling NaN, which it passes on, is quiet once it is widened"},
    {"fmod", kPatterns, "its vectorised float32 kernel is not exact where the quotient is large"},
    {"gelu", kPatterns, kAbsolute},
    {"gelu_backward", kPatterns, kAbsolute},
    {"i0", kFew, kTies},
    {"igamma", kPatterns, kAbsolute},
    {"igammac", kPatterns, kAbsolute},
    {"ldexp", kPatterns, kNarrow},
    {"lgamma", kFew, kTies},
    {"log", kFew, kTies},
    {"log10", kFew, kTies},
    {"log1p", kFew, kTies},
    {"log2", kFew, kTies},
    {"log_sigmoid_forward", kFew, kTies},
    {"logaddexp", kFew, kTies},
    {"logaddexp2", kFew, kTies},
    {"logit", kPatterns, kNarrow},
    {"logit_backward", kPatterns, kNarrow},
    {"mish", kFew, kTies},
    {"mvlgamma", kPatterns, kNarrow},
    {"polygamma", kPatterns, kAbsolute},
    {"pow", kFew, kTies},
    {"remainder", kPatterns, "fmod's kernel is in it"},
    {"sigmoid", kFew, kTies},
    {"sigmoid_backward", kPatterns, kNarrow},
    {"silu", kFew, kTies},
    {"silu_backward", kFew, kTies},
    {"sin", kFew, kTies},
    {"sinc", kPatterns, "it rounds the argument of the sine to float32"},
    {"sinh", kFew, kTies},
    {"softplus", kFew, kTies},
    {"special_entr", kPatterns, kNarrow},
    {"special_i1", kPatterns, kAbsolute},
    {"special_i1e", kFew, kTies},
    {"special_xlog1py", kPatterns, kNarrow},
    {"tan", kFew, kTies},
    {"tanh", kFew, kTies},
    {"xlogy", kPatterns, kNarrow},
});

const Divergence* divergence_of(std::string_view name) {
  const auto* found = std::find_if(kDivergences.begin(), kDivergences.end(),
                                   [&](const Divergence& each) { return each.name == name; });
  return found == kDivergences.end() ? nullptr : found;
}

/// Tensor k of a call: every bit pattern, in an order of its own for each k.
at::Tensor patterns(ScalarType type, int k) {
  at::Tensor order = at::arange(kPatterns, at::kLong);
  for (int i = 0; i < k; ++i) order = (order * 40503 + 12345) % kPatterns;
  return order.to(at::kInt).to(at::kShort).view(type);
}

/// Arguments for a call; nothing where a rule does not find them.  `numbers` are taken in turn for
/// what is a number, where they are empty every default stays.
std::optional<Stack> arguments(const c10::FunctionSchema& schema, ScalarType type,
                               const std::vector<IValue>& numbers) {
  Stack stack;
  int tensors = 0;
  std::size_t taken = 0;
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.alias_info() && argument.alias_info()->isWrite()) return std::nullopt;
    switch (bare_type(argument)->kind()) {
      case c10::TypeKind::TensorType:
        stack.emplace_back(patterns(type, tensors++));
        if (argument.name() == "mask") stack.back() = stack.back().toTensor().gt(0);
        continue;
      case c10::TypeKind::NumberType:
        if (numbers.empty()) break;
        stack.push_back(numbers[taken++ % numbers.size()]);
        continue;
      case c10::TypeKind::FloatType:
        if (numbers.empty() || argument.default_value()) break;
        stack.emplace_back(numbers[taken++ % numbers.size()].toScalar().toDouble());
        continue;
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        if (argument.default_value()) break;
        stack.emplace_back(std::int64_t{2});
        continue;
      case c10::TypeKind::StringType:
        if (argument.default_value()) break;
        stack.emplace_back("floor");
        continue;
      case c10::TypeKind::BoolType:
        if (argument.default_value()) break;
        stack.emplace_back(false);
        continue;
      default:
        break;
    }
    if (!argument.default_value()) return std::nullopt;
    stack.push_back(*argument.default_value());
  }
  const bool has_tensor = tensors > 0 && (numbers.empty() || taken > 0);
  return has_tensor ? std::optional(stack) : std::nullopt;
}

/// Elements that differ: NaN is NaN, and -0 is not +0.
std::int64_t count_differing(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return kPatterns;
  if (!a.is_floating_point()) return a.ne(b).sum().item<std::int64_t>();
  const at::Tensor same = a.eq(b).logical_and(a.signbit().eq(b.signbit()));
  return same.logical_or(a.isnan().logical_and(b.isnan())).logical_not().sum().item<std::int64_t>();
}

/// How many elements of eager's result the gold does not have; nothing where eager has none.
std::optional<std::int64_t> diverging(const c10::OperatorHandle& op, const Stack& stack) {
  std::vector<IValue> eager;
  try {
    eager = call_operator(op, stack);
  } catch (const std::exception&) {
    return std::nullopt;  // no such kernel, or not for these arguments
  }
  const std::vector<IValue> gold = call_stepwise(op, stack, eager, nullptr);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < eager.size(); ++i) {
    if (!eager[i].isTensor()) continue;
    count = std::max(count, count_differing(eager[i].toTensor(), gold[i].toTensor()));
  }
  return count;
}

class GoldSweep : public ::testing::Test {
 protected:
  void SetUp() override {
    if (at::get_cpu_capability() == "DEFAULT") {
      GTEST_SKIP() << "without vector instructions kernels of 16 bits round between their steps";
    }
  }

  /// Every functional pointwise overload of aten.
  static std::vector<c10::OperatorHandle> operators() {
    std::vector<c10::OperatorHandle> all;
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
      const auto op = c10::Dispatcher::singleton().findSchema(name);
      if (!op || !op->hasTag(at::Tag::pointwise) || !name.name.starts_with("aten::")) continue;
      if (op->hasTag(at::Tag::nondeterministic_seeded)) continue;
      all.push_back(*op);
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return toString(a.operator_name()) < toString(b.operator_name());
    });
    return all;
  }

  /// How many calls were compared.
  static int sweep(const std::vector<IValue>& numbers) {
    int compared = 0;
    for (const c10::OperatorHandle& op : operators()) {
      for (const ScalarType type : {at::kHalf, at::kBFloat16}) {
        const auto stack = arguments(op.schema(), type, numbers);
        const auto count = stack ? diverging(op, *stack) : std::nullopt;
        if (!count) continue;
        ++compared;
        const Divergence* divergence = divergence_of(base_name(op));
        const std::int64_t most = divergence == nullptr ? 0 : divergence->most;
        EXPECT_LE(*count, most) << (divergence == nullptr ? "" : divergence->why) << ": "
                                << toString(op.operator_name()) << " of " << c10::toString(type);
      }
    }
    return compared;
  }
};

TEST_F(GoldSweep, stepwise_is_eager_on_every_pattern_of_16_bits) { EXPECT_GT(sweep({}), 150); }

TEST_F(GoldSweep, stepwise_is_eager_with_numbers_that_the_dtype_has_not) {
  EXPECT_GT(sweep({1.7, 0.1}), 50);
  EXPECT_GT(sweep({0.1, -1.7}), 50);
}

TEST_F(GoldSweep, stepwise_is_eager_with_integers_that_the_dtype_has_not) {
  EXPECT_GT(sweep({std::int64_t{257}, std::int64_t{4099}}), 50);
}

}  // namespace
}  // namespace lockstep::eager
