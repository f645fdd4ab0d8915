#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "judge/numerics/close.h"
#include "judge/numerics/oracle.h"

// What every policy decides, against its formula (the checks) written down plainly, over all
// dtypes. Three have an oracle elsewhere: same and same_upstream are torch's own
// (test_upstream.py), and statistical is a matter of samples (compare_test.cpp).

namespace lockstep {
namespace {

using namespace fixtures;

/// One output with its golds, and what the oracle makes of it.
struct Pair {
  Tensor eager, compiled, fp64, stepwise;
  std::vector<double> e, c, g, s;  ///< numbers, the parts of complex elements one by one
  PairNumbers pair;                ///< by the oracle, under the table's tolerance

  const Dtype& dtype() const { return *eager.view.dtype; }
  const Dtype& number() const { return number_dtype(dtype()); }
};

std::vector<double> numbers_of(const Tensor& tensor) {
  const Dtype& number = number_dtype(*tensor.view.dtype);
  std::vector<double> values;
  for (std::size_t at = 0; at < tensor.bytes->size();
       at += static_cast<std::size_t>(number.bytes)) {
    const std::uint64_t bits = load_bits(tensor.bytes->data() + at, number.bytes);
    const int unused = 64 - 8 * number.bytes;
    values.push_back(number.is_floating() ? decode_float(number, bits)
                     : number.kind == NumberKind::signed_integer
                         ? static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused)
                         : static_cast<double>(bits));
  }
  return values;
}

/// A gold of that dtype near one of the two sides, or nowhere.
Tensor gold_for(const Pair& made, std::string_view dtype, oracle::PairGenerator& generate) {
  Tensor gold = zeros(dtype, made.eager.view.shape);
  const Dtype& number = number_dtype(*gold.view.dtype);
  for (std::size_t i = 0; i < made.e.size(); ++i) {
    double value = generate() % 2 == 0 ? made.e[i] : made.c[i];
    if (generate() % 2 == 0) value += (made.c[i] - made.e[i]) * 0.375;
    if (generate() % 40 == 0) value = NAN;
    if (generate() % 40 == 0) value = INFINITY;
    if (!number.is_floating() && !std::isfinite(value)) value = 0;
    std::uint64_t bits = encode(number, number.is_floating() ? value : std::fmod(value, 1e15));
    set_bits(gold, static_cast<std::int64_t>(i), bits);
  }
  return gold;
}

Pair random_case(oracle::PairGenerator& generate) {
  const Dtype& dtype = all_dtypes()[generate() % all_dtypes().size()];
  const auto count = static_cast<std::int64_t>(generate() % 6);
  Pair made{zeros(dtype.name, {count}), zeros(dtype.name, {count}), {}, {}, {}, {}, {}, {}, {}};
  // Half of the cases are tame, so that rules about numbers get beyond the masks.
  const bool tame = generate() % 2 == 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i * dtype.bytes);
    do {
      generate.fill(dtype, made.eager.bytes->data() + at, made.compiled.bytes->data() + at);
    } while (tame && oracle::compare(dtype, made.eager.bytes->data() + at,
                                     made.compiled.bytes->data() + at, 1, {})
                             .nonfinite > 0);
  }
  made.e = numbers_of(made.eager);
  made.c = numbers_of(made.compiled);
  const bool floating = number_dtype(dtype).is_floating();
  made.fp64 = gold_for(made,
                       dtype.is_complex() ? "complex128"
                       : floating         ? "float64"
                                          : dtype.name,
                       generate);
  made.stepwise = gold_for(made, dtype.name, generate);
  made.g = numbers_of(made.fp64);
  made.s = numbers_of(made.stepwise);
  made.pair = oracle::compare(dtype, made.eager.bytes->data(), made.compiled.bytes->data(), count,
                              close_tolerance(dtype));
  return made;
}

// The formulas, for cases whose masks are equal.

double unit_at(const Dtype& dtype, double x);

bool no_worse(const Pair& made, double factor) {
  double eager = 0, compiled = 0, gold = 0;
  std::int64_t numbers = 0, eager_gross = 0, compiled_gross = 0;
  const auto grossly_wrong = [&](double x, double g) {
    const double ulp = made.number().is_floating() ? unit_at(made.number(), g) : 0;
    const double error = std::fabs(x - g);
    return error > std::fabs(g) / 8 && error > close_tolerance(made.dtype()).atol && error > ulp;
  };
  for (std::size_t i = 0; i < made.e.size(); ++i) {
    if (!std::isfinite(made.e[i])) continue;
    if (!std::isfinite(made.g[i])) {
      if (made.e[i] != made.c[i]) return false;
      continue;
    }
    eager = std::max(eager, std::fabs(made.e[i] - made.g[i]));
    compiled = std::max(compiled, std::fabs(made.c[i] - made.g[i]));
    gold = std::max(gold, std::fabs(made.g[i]));
    ++numbers;
    eager_gross += grossly_wrong(made.e[i], made.g[i]);
    compiled_gross += grossly_wrong(made.c[i], made.g[i]);
  }
  const auto by_noise = static_cast<double>(eager_gross) * 2 * std::max(1.0, factor);
  const std::int64_t besides = (numbers < 48 ? 2 + numbers / 8 : 8) + numbers / 1000;
  if (static_cast<double>(compiled_gross - besides) > by_noise) return false;
  const double epsilon =
      made.number().is_floating() ? std::ldexp(1.0, -made.number().mantissa_bits) : 0;
  return compiled <= factor * eager + epsilon * gold;
}

/// From |x| to the next number of the dtype.
double unit_at(const Dtype& dtype, double x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  const int lowest = dtype.mantissa_bits == 0 ? -dtype.bias : 1 - dtype.bias;
  return std::ldexp(1.0, (x == 0 ? lowest : std::max(exponent - 1, lowest)) - dtype.mantissa_bits);
}

bool stepwise(const Pair& made, double steps) {
  for (std::size_t i = 0; i < made.e.size(); ++i) {
    if (!std::isfinite(made.e[i])) continue;
    if (!std::isfinite(made.s[i])) {
      if (made.e[i] != made.c[i]) return false;
      continue;
    }
    const double slack =
        made.number().is_floating() ? steps * unit_at(made.number(), made.s[i]) : 0;
    if (std::fabs(made.c[i] - made.s[i]) > std::fabs(made.e[i] - made.s[i]) + slack) return false;
  }
  return true;
}

int rounds() {
  const char* text = std::getenv("LOCKSTEP_JUDGE_EFFORT");
  return 20'000 * (text == nullptr ? 1 : std::max(1, std::atoi(text)));
}

TEST(PoliciesOracle, EveryPolicyDecidesAsItsFormula) {
  oracle::PairGenerator generate(22);
  std::map<std::string, std::array<int, 2>> decided;
  for (int round = 0; round < rounds(); ++round) {
    const Pair made = random_case(generate);
    const PairNumbers& pair = made.pair;
    const bool masks = pair.nonfinite == 0;
    const bool same = pair.unequal == 0;
    const bool close = masks && pair.not_close == 0;
    const bool no_worse1 = masks && (same || no_worse(made, 1));
    const bool stepwise1 = masks && (same || stepwise(made, 1));
    const bool ulp2 = masks && pair.max_ulp <= 2;
    const bool bits = masks && pair.differing == 0;
    const std::pair<const char*, bool> expected[] = {
        {"bits", bits},
        {"bits_strict", masks && pair.payload_differing == 0},
        {"equal", masks && same},
        {"exact", masks && same},
        {"ulp(2)", ulp2},
        {"close", close},
        {"no_worse(1)", no_worse1},
        {"no_worse(4)", masks && (same || no_worse(made, 4))},
        {"stepwise(1)", stepwise1},
        {"stepwise(0)", masks && (same || stepwise(made, 0))},
        {"metadata", true},
        {"any_of(close, no_worse(1))", close || no_worse1},
        {"any_of(bits, stepwise(1), ulp(2))", bits || stepwise1 || ulp2},
        {"all_of(close, stepwise(1))", close && stepwise1},
        {"all_of(any_of(close, ulp(2)), no_worse(1))", (close || ulp2) && no_worse1}};
    Subject subject;
    subject.eager = &made.eager.view;
    subject.compiled = &made.compiled.view;
    subject.golds[Gold::fp64] = &made.fp64.view;
    subject.golds[Gold::stepwise] = &made.stepwise.view;
    Comparison comparison(std::move(subject));
    for (const auto& [policy, holds] : expected) {
      const CheckResult result = comparison.check(*parse_policy(policy));
      EXPECT_EQ(result.holds(), holds)
          << policy << " of " << made.dtype().name << ", round " << round << ": " << result.reason;
      ++decided[policy][holds ? 1 : 0];
    }
    if (HasFailure()) return;
  }
  for (const auto& [policy, counts] : decided) {  // a rule that is never broken is not tested
    EXPECT_GT(counts[1], rounds() / 50) << policy;
    EXPECT_TRUE(policy == "metadata" || counts[0] > rounds() / 50) << policy;
  }
}

TEST(PoliciesOracle, IndexEquivalentSelectsEqualValues) {
  oracle::PairGenerator generate(23);
  int held = 0;
  for (int round = 0; round < rounds() / 4; ++round) {
    // Few different values, so that there are ties; indices now and then out of range.
    const auto size = static_cast<std::int64_t>(1 + generate() % 5);
    const auto picks = static_cast<std::int64_t>(1 + generate() % 3);
    const Tensor x = zeros("float16", {2, size});
    for (std::int64_t i = 0; i < 2 * size; ++i) {
      const double values[] = {0.0, -0.0, 1.0, NAN};
      set_bits(x, i, encode_float(*find_dtype("float16"), values[generate() % 4]));
    }
    const std::vector<double> values = numbers_of(x);
    const Tensor e = zeros("int64", {2, picks}), c = zeros("int64", {2, picks});
    bool right = true;
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t i = 0; i < picks; ++i) {
        const auto a = static_cast<std::int64_t>(generate() % static_cast<std::uint64_t>(size));
        const std::int64_t b =
            generate() % 30 == 0 ? size
            : generate() % 3 == 0
                ? static_cast<std::int64_t>(generate() % static_cast<std::uint64_t>(size))
                : a;
        set_bits(e, row * picks + i, static_cast<std::uint64_t>(a));
        set_bits(c, row * picks + i, static_cast<std::uint64_t>(b));
        if (a == b) continue;
        const auto at = [&](std::int64_t index) {
          return values[static_cast<std::size_t>(row * size + index)];
        };
        right &= b < size && (at(a) == at(b) || (std::isnan(at(a)) && std::isnan(at(b))));
      }
    }
    const auto repeats = [&](const Tensor& indices) {
      const std::vector<double> all = numbers_of(indices);
      bool found = false;
      for (std::int64_t row = 0; row < 2; ++row) {
        const auto begin = all.begin() + row * picks;
        found |= std::set<double>(begin, begin + picks).size() < static_cast<std::size_t>(picks);
      }
      return found;
    };
    right &= repeats(e) || !repeats(c);
    Subject subject;
    subject.eager = &e.view;
    subject.compiled = &c.view;
    subject.eager_tensor = subject.compiled_tensor = [&](std::string_view) { return &x.view; };
    const CheckResult result =
        Comparison(subject).check(*parse_policy("index_equivalent(x, dim=1)"));
    EXPECT_EQ(result.holds(), right) << result.reason;
    held += right;
    if (HasFailure()) return;
  }
  EXPECT_GT(held, rounds() / 40);
  EXPECT_LT(held, rounds() / 4 - rounds() / 40);
}

}  // namespace
}  // namespace lockstep
