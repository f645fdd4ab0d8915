#include "judge/numerics/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "judge/numerics/oracle.h"

namespace lockstep {
namespace {

using namespace fixtures;
using testing::ElementsAre;

/// The dtypes of at most 16 bits whose every pattern can be tried.
std::vector<const Dtype*> narrow() {
  std::vector<const Dtype*> all;
  for (const Dtype& dtype : all_dtypes()) {
    if (dtype.is_floating() && dtype.bytes <= 2) all.push_back(&dtype);
  }
  return all;
}

/// All finite numbers of a dtype that are not negative, with their codes; what rounding and ulp are
/// is read off their gaps.
class Line {
 public:
  explicit Line(const Dtype& dtype) : dtype_(dtype) {
    const bool has_sign = dtype.mantissa_bits > 0;
    const std::uint64_t codes = std::uint64_t{1} << (8 * dtype.bytes - (has_sign ? 1 : 0));
    for (std::uint64_t bits = 0; bits < codes; ++bits) {
      const double value = decode_float(dtype, bits);
      if (std::isfinite(value)) numbers_.push_back(value);
    }
  }

  double error(double r, double g) const {
    const double rounded_truth = truth(g);
    if (std::isnan(g) || std::isinf(g) || !std::isfinite(r)) {
      return std::isnan(rounded_truth) == std::isnan(r) && (std::isnan(r) || r == rounded_truth)
                 ? 0
                 : INFINITY;
    }
    return std::fabs(r - g) / ulp(std::fabs(g));
  }

 private:
  double truth(double g) const {
    if (std::isnan(g)) return g;
    const double top = numbers_.back();
    const double gap = top_gap();
    const bool even = (numbers_.size() - 1) % 2 == 0;  // the code of the greatest number
    const double magnitude = std::fabs(g);
    const bool over = even ? magnitude > top + gap / 2 : magnitude >= top + gap / 2;
    if (!over) return 1;  // some number
    if (!dtype_.has_infinity) return NAN;
    return g > 0 ? INFINITY : -INFINITY;
  }
  double ulp(double magnitude) const {
    const auto above = std::upper_bound(numbers_.begin(), numbers_.end(), magnitude);
    if (above == numbers_.end()) return top_gap();
    if (above == numbers_.begin()) return above[1] - above[0];
    return above[0] - above[-1];
  }
  double top_gap() const {
    // An exponent-only format doubles from number to number.
    const double below = numbers_[numbers_.size() - 1] - numbers_[numbers_.size() - 2];
    return dtype_.mantissa_bits == 0 ? 2 * below : below;
  }

  const Dtype& dtype_;
  std::vector<double> numbers_;
};

int plain_kind(const Dtype& dtype, double x) {
  if (x == 0 || !std::isfinite(x)) return 2;
  return dtype.mantissa_bits > 0 && std::fabs(x) < std::ldexp(1.0, 1 - dtype.bias) ? 1 : 0;
}

TEST(Accuracy, AgreesWithThePlainOracleOnEveryPattern) {
  oracle::PairGenerator generate(31);
  for (const Dtype* dtype : narrow()) {
    const Line line(*dtype);
    const auto count = std::int64_t{1} << (8 * dtype->bytes);
    const Tensor x = zeros(dtype->name, {count}), e = zeros(dtype->name, {count}),
                 c = zeros(dtype->name, {count}), gold = zeros("float64", {count});
    std::array<Accuracy, 4> plain;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto bits = static_cast<std::uint64_t>(i);
      const double exact = decode_float(*dtype, bits);
      double g = exact * (1 + static_cast<double>(generate() % 64) * 0x1p-10);
      switch (generate() % 16) {
        case 0:
          g = std::ldexp(g, static_cast<int>(generate() % 8));  // some overflow
          break;
        case 1:
          g = generate() % 2 == 0 ? NAN : INFINITY;
          break;
        case 2:
          g = -g;
          break;
        case 3:
          g = generate() % 2 == 0 ? 0 : 0x1p-400;
          break;
        default:
          break;
      }
      const std::uint64_t other =
          generate() % 4 == 0 ? generate() % static_cast<std::uint64_t>(count) : bits;
      set_bits(x, i, bits);
      set_bits(e, i, bits);
      set_bits(c, i, other);
      set_bits(gold, i, std::bit_cast<std::uint64_t>(g));
      Accuracy& row = plain[static_cast<std::size_t>(plain_kind(*dtype, exact))];
      const double of_e = line.error(exact, g);
      const double of_c = line.error(decode_float(*dtype, other), g);
      ++row.elements;
      row.eager = std::max(row.eager, of_e);
      row.compiled = std::max(row.compiled, of_c);
      const double value = decode_float(*dtype, other);
      if (exact != value && !(std::isnan(exact) && std::isnan(value))) {
        ++plain[3].elements;
        plain[3].eager = std::max(plain[3].eager, of_e);
        plain[3].compiled = std::max(plain[3].compiled, of_c);
      }
      if (i % 7 != 0) continue;  // alone, so that no error hides behind a greater one
      const auto at = [&](const Tensor& all) {
        Tensor one = all;
        one.view.shape = {1};
        one.view.offset = i;
        return one;
      };
      const Tensor x_at = at(x);
      const auto found = accuracy(at(e), at(c), at(gold), {{"x", &x_at.view}});
      ASSERT_GE(found.size(), 1u);
      ASSERT_EQ(found[0].eager, of_e) << dtype->name << " " << exact << " for " << g;
      ASSERT_EQ(found[0].compiled, of_c) << dtype->name << " " << other << " for " << g;
    }
    std::vector<Accuracy> expected;
    for (std::size_t kind = 0; kind < plain.size(); ++kind) {
      if (plain[kind].elements == 0) continue;
      constexpr std::string_view names[] = {"normal", "subnormal", "special", "differing"};
      plain[kind].inputs = names[kind];
      expected.push_back(plain[kind]);
    }
    EXPECT_EQ(accuracy(e, c, gold, {{"x", &x.view}}), expected) << dtype->name;
  }
}

std::vector<Accuracy> of(std::string_view dtype, double e, double c, double g) {
  return accuracy(tensor(dtype, {e}), tensor(dtype, {c}), tensor("float64", {g}), {});
}

TEST(Accuracy, ErrorsAreInUlpOfTheTruth) {
  const auto found = of("float32", 1.0, 1 + 0x1p-23, 1 + 0x1p-25);
  EXPECT_THAT(found,
              ElementsAre(Accuracy{"normal", 1, 0.25, 0.75}, Accuracy{"differing", 1, 0.25, 0.75}));
  // Just below a power of two the unit is half as large.
  EXPECT_EQ(of("float32", 1.0, 1.0, 1 - 0x1p-25)[0].eager, 0.5);
  // No unit is smaller than the least subnormal.
  EXPECT_EQ(of("float32", 0.0, 0x1p-149, 0x1p-150)[0], (Accuracy{"normal", 1, 0.5, 0.5}));
  EXPECT_EQ(of("bfloat16", 0x1p-133, 0.0, 0x1p-1074)[0].compiled, 0x1p-1074 * 0x1p133);
  EXPECT_EQ(of("float32", 0.0, -0.0, 0.0)[0], (Accuracy{"normal", 1, 0, 0}));
}

TEST(Accuracy, WrongSpecialsAreInfinitelyWrong) {
  const auto errors = [](double e, double c, double g) {
    const Accuracy found = of("float16", e, c, g)[0];
    return std::pair(found.eager, found.compiled);
  };
  EXPECT_EQ(errors(NAN, 1, NAN), std::pair(0.0, HUGE_VAL));
  EXPECT_EQ(errors(NAN, 1, 1), std::pair(HUGE_VAL, 0.0));
  EXPECT_EQ(errors(INFINITY, 65504, INFINITY), std::pair(0.0, HUGE_VAL));
  EXPECT_EQ(errors(INFINITY, -INFINITY, INFINITY), std::pair(0.0, HUGE_VAL));
  EXPECT_EQ(errors(INFINITY, -INFINITY, 1e6), std::pair(0.0, HUGE_VAL));
  // The greatest number in place of an overflow is as far off as it is.
  EXPECT_EQ(errors(INFINITY, 65504, 65536), std::pair(0.0, 1.0));
  EXPECT_EQ(errors(INFINITY, 65504, 65520), std::pair(0.0, 0.5));
  // Just below that, rounding gives the greatest number, and infinity is wrong.
  EXPECT_EQ(errors(65504, INFINITY, 65519), std::pair(15.0 / 32, HUGE_VAL));
  // Without infinities an overflow is a NaN.
  EXPECT_EQ(of("float8_e4m3fn", NAN, 448, 480)[0], (Accuracy{"normal", 1, 0, 1}));
}

TEST(Accuracy, TheWorstKindOfTheInputsCounts) {
  const Tensor y = tensor("float32", {1, 1, 1, 1, 1});
  const Tensor gold = tensor("float64", {1, 1, 1, 1, 1});
  const Tensor a = tensor("float16", {1, 0x1p-20, 2, -0.0, 0x1p-20});
  const Tensor b = tensor("float32", {1, 1, 0x1p-130, 1, NAN});
  const Tensor n = tensor("int64", {0, 0, 0, 0, 0});
  const auto rows = accuracy(y, y, gold, {{"a", &a.view}, {"b", &b.view}, {"n", &n.view}});
  EXPECT_THAT(rows, ElementsAre(Accuracy{"normal", 1, 0, 0}, Accuracy{"subnormal", 2, 0, 0},
                                Accuracy{"special", 2, 0, 0}));
}

TEST(Accuracy, FollowsTheIndexWhateverTheLayout) {
  // y is a transposed view, its gold and input are not.
  Tensor y = tensor("float32", {1, 3, 2, 4});
  y.view.shape = {2, 2};
  y.view.strides = {1, 2};
  const Tensor gold = reshaped(tensor("float64", {1, 2, 3, 4}), {2, 2});
  const Tensor x = reshaped(tensor("float32", {1, 0x1p-140, 1, 1}), {2, 2});
  Tensor bad = y;
  bad.bytes = std::make_shared<std::vector<std::byte>>(*y.bytes);
  bad.view.bytes = *bad.bytes;
  keep(bad.bytes);
  set_bits(bad, 2, encode(*find_dtype("float32"), 2 + 0x1p-20));  // the element [0, 1]
  EXPECT_THAT(accuracy(y, bad, gold, {{"x", &x.view}}),
              ElementsAre(Accuracy{"normal", 3, 0, 0}, Accuracy{"subnormal", 1, 0, 4},
                          Accuracy{"differing", 1, 0, 4}));
  const auto first = first_differences(y, bad, {{"x", &x.view}});
  ASSERT_EQ(first.size(), 1u);
  EXPECT_THAT(first[0].index, ElementsAre(0, 1));
  EXPECT_THAT(first[0].inputs, ElementsAre("x = 7.17e-43 (0x00000200)"));
  EXPECT_EQ(first[0].eager, "2.0");
  EXPECT_EQ(first[0].compiled, "2.000001");
}

// Every float16 and its errors, against what a plain look at all elements finds.
TEST(ErrorCurve, HasTheGreatestErrorsAlongTheInput) {
  const Dtype& half = *find_dtype("float16");
  const std::int64_t count = 1 << 16;
  const Tensor x = zeros("float16", {count}), e = zeros("float16", {count}),
               c = zeros("float16", {count}), gold = zeros("float64", {count});
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint64_t>(i);
    const double value = decode_float(half, bits);
    set_bits(x, i, bits);
    set_bits(e, i, bits);
    // Two steps too far from 1 to 1.5, NaN for what is at least 32768: nothing else is wrong.
    set_bits(c, i, value >= 32768 ? 0x7e00 : value >= 1 && value < 1.5 ? bits + 2 : bits);
    set_bits(gold, i, std::bit_cast<std::uint64_t>(value));
  }
  const auto curve = error_curve(e, c, gold, {{"x", &x.view}});
  ASSERT_TRUE(curve);
  EXPECT_EQ(curve->input, "x");
  ASSERT_EQ(curve->from.size(), 256u);
  EXPECT_TRUE(std::is_sorted(curve->from.begin(), curve->from.end()));
  EXPECT_EQ(curve->from.front(), -65500);  // -65504 in three digits
  EXPECT_EQ(curve->eager, std::vector<double>(256));
  ASSERT_EQ(curve->compiled.size(), 256u);
  for (std::size_t i = 0; i < 256; ++i) {
    const double from = curve->from[i], to = i < 255 ? curve->from[i + 1] : HUGE_VAL;
    const double worst = to > 32768 && from >= 0             ? HUGE_VAL
                         : to > 1 && from >= 0 && from < 1.5 ? 2
                                                             : 0;
    EXPECT_EQ(curve->compiled[i], worst) << from;
  }
  const auto alike = error_curve(c, c, gold, {{"x", &x.view}});
  ASSERT_TRUE(alike);
  EXPECT_EQ(alike->from.size(), 64u) << "four parts in one, for one curve says little";
  EXPECT_TRUE(alike->compiled.empty());
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(alike->from[i], curve->from[4 * i]);
    EXPECT_EQ(alike->eager[i],
              *std::max_element(&curve->compiled[4 * i], &curve->compiled[4 * i] + 4));
  }
}

TEST(ErrorCurve, LeavesOutWhatHasNoPlace) {
  const std::int64_t count = 256;
  const Tensor x = zeros("float32", {count}), y = zeros("float32", {count}),
               gold = zeros("float64", {count}), n = zeros("int64", {count});
  set_bits(x, 0, 0x7f800000);  // infinity, with a result that is wrong
  set_bits(y, 0, 0x3f800000);
  set_bits(x, 1, 0x3f800000);
  EXPECT_EQ(error_curve(y, y, gold, {{"n", &n.view}, {"x", &x.view}}),
            (ErrorCurve{"x", {0, 1}, {0, 0}, {}}));
  EXPECT_EQ(error_curve(y, y, gold, {{"n", &n.view}}), std::nullopt);
  const Tensor few = tensor("float32", {1, 2}), truth = tensor("float64", {1, 2});
  EXPECT_EQ(error_curve(few, few, truth, {{"x", &few.view}}), std::nullopt);
  for (std::int64_t i = 0; i < count; ++i) set_bits(x, i, 0x7fc00000);
  EXPECT_EQ(error_curve(y, y, gold, {{"x", &x.view}}), std::nullopt);
}

TEST(FirstDifferences, AreFourAtMostAndTheFirst) {
  const std::int64_t count = 5000;
  const Tensor x = zeros("float16", {count}), e = zeros("float16", {count}),
               c = zeros("float16", {count});
  for (std::int64_t i = 0; i < count; ++i) set_bits(x, i, static_cast<std::uint64_t>(i));
  for (const std::int64_t i : {4000, 700, 701, 3, 4999}) set_bits(c, i, 0x8000);
  set_bits(e, 2, 0x7e00);  // a NaN equals a NaN
  set_bits(c, 2, 0xfe01);
  const auto first = first_differences(e, c, {{"x", &x.view}});
  ASSERT_EQ(first.size(), 4u);
  EXPECT_THAT(first[0].index, ElementsAre(3));
  EXPECT_THAT(first[3].index, ElementsAre(4000));
  EXPECT_THAT(first[1].inputs, ElementsAre("x = 4.17e-05 (0x02bc)"));
  EXPECT_EQ(first[1].eager, "0.0");
  EXPECT_EQ(first[1].compiled, "-0.0");
  EXPECT_TRUE(first_differences(e, e, {}).empty());
}

TEST(Accuracy, AMillionElementsAreCompared) {
  const std::int64_t count = 1 << 20;
  for (const std::string_view name : {"float32", "float16"}) {
    const Dtype& dtype = *find_dtype(name);
    const Tensor e = zeros(name, {count}), c = zeros(name, {count}),
                 gold = zeros("float64", {count});
    for (std::int64_t i = 0; i < count; ++i) {
      // Spread over all patterns; set_bits drops what is above the width.
      const auto bits = static_cast<std::uint64_t>(i) << (8 * dtype.bytes - 20 > 0 ? 12 : 0);
      set_bits(e, i, bits);
      set_bits(c, i, bits + 1);
      const double truth =
          decode_float(dtype, load_bits(e.bytes->data() + i * dtype.bytes, dtype.bytes));
      set_bits(gold, i, std::bit_cast<std::uint64_t>(truth));
    }
    EXPECT_EQ(accuracy(e, c, gold, {{"x", &e.view}}).size(), 4u);
  }
}

}  // namespace
}  // namespace lockstep
