#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/enum_table.h"
#include "cases/boundary.h"
#include "cases/fill.h"
#include "cases/stratified.h"

namespace lockstep {
namespace {

// --- what is wrong with parameters ---

bool is_whole(const RuleFill& fill, std::string_view name) {
  return std::floor(fill.parameter(name)) == fill.parameter(name);
}

std::string no_fault(const RuleFill&, const Dtype&) { return ""; }

std::string arange_fault(const RuleFill& fill, const Dtype&) {
  return fill.parameter("divide") == 0 ? "divide must not be 0" : "";
}

std::string integers_fault(const RuleFill& fill, const Dtype&) {
  const double low = fill.parameter("low"), high = fill.parameter("high");
  if (!is_whole(fill, "low") || !is_whole(fill, "high") || low >= high)
    return "low and high must be integers, low < high";
  if (std::fabs(low) > 0x1p53 || std::fabs(high) > 0x1p53)
    return "low and high must be within 2^53";
  return "";
}

std::string small_integers_fault(const RuleFill& fill, const Dtype&) {
  const double magnitude = fill.parameter("magnitude");
  const bool fits = is_whole(fill, "magnitude") && magnitude >= 0 && magnitude <= 0x1p31;
  return fits ? "" : "magnitude must be an integer from 0 to 2^31";
}

std::string powers_fault(const RuleFill& fill, const Dtype&) {
  const double least = fill.parameter("least"), greatest = fill.parameter("greatest");
  const bool fits = is_whole(fill, "least") && is_whole(fill, "greatest") && least <= greatest &&
                    std::fabs(least) <= 1100 && std::fabs(greatest) <= 1100;
  return fits ? "" : "least and greatest must be integers within 1100, least <= greatest";
}

std::string grid_fault(const RuleFill& fill, const Dtype&) {
  const double place = fill.parameter("place");
  return is_whole(fill, "place") && place >= 0 && place <= 7
             ? ""
             : "place must be an integer from 0 to 7";
}

std::string all_bits_fault(const RuleFill&, const Dtype& dtype) {
  return dtype.bytes > 2 ? fmt::format("{} has more than 16 bits", dtype.name) : "";
}

std::string permutation_fault(const RuleFill& fill, const Dtype&) {
  const double block = fill.parameter("block");
  return is_whole(fill, "block") && block >= 0 && block <= 0x1p31
             ? ""
             : "block must be an integer from 0 to 2^31";
}

std::string mask_fault(const RuleFill& fill, const Dtype&) {
  const double share = fill.parameter("share");
  return share >= 0 && share <= 1 ? "" : "share must be from 0 to 1";
}

std::string fan_fault(const RuleFill& fill, const Dtype&) {
  return fill.parameter("fan_in") < 1 ? "fan_in must be at least 1" : "";
}

// --- fall-backs that come from the shape, as torch.nn.init computes them ---

/// A row's elements.
double fan_in(const std::vector<std::int64_t>& shape) {
  double row = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) row *= static_cast<double>(shape[i]);
  return std::max(1.0, row);
}

/// The rows times the receptive field.
double fan_out(const std::vector<std::int64_t>& shape) {
  double field = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) field *= static_cast<double>(shape[i]);
  return std::max(1.0, (shape.empty() ? 1 : static_cast<double>(shape[0])) * field);
}

// --- one real number for place k; `draw` tells the parts of a complex number apart ---

using NumberRule = double (*)(const RuleFill& fill, const RandomStream& stream, std::uint64_t k,
                              std::uint32_t draw);

double constant(const RuleFill& fill, const RandomStream&, std::uint64_t, std::uint32_t draw) {
  return draw == 0 ? fill.parameter("value") : 0;
}

double arange(const RuleFill& fill, const RandomStream&, std::uint64_t k, std::uint32_t draw) {
  if (draw != 0) return 0;
  return (fill.parameter("start") + static_cast<double>(k) * fill.parameter("step")) /
         fill.parameter("divide");
}

double uniform_between(double low, double high, const RandomStream& stream, std::uint64_t k,
                       std::uint32_t draw) {
  return low + (high - low) * stream.uniform(k, draw);
}

double uniform(const RuleFill& fill, const RandomStream& stream, std::uint64_t k,
               std::uint32_t draw) {
  return uniform_between(fill.parameter("low"), fill.parameter("high"), stream, k, draw);
}

double normal(const RuleFill& fill, const RandomStream& stream, std::uint64_t k,
              std::uint32_t draw) {
  return fill.parameter("mean") + fill.parameter("std") * stream.normal(k, draw);
}

double integers(const RuleFill& fill, const RandomStream& stream, std::uint64_t k,
                std::uint32_t draw) {
  const double low = fill.parameter("low");
  return low + static_cast<double>(
                   stream.below(static_cast<std::uint64_t>(fill.parameter("high") - low), k, draw));
}

double small_integers(const RuleFill& fill, const RandomStream& stream, std::uint64_t k,
                      std::uint32_t draw) {
  const double magnitude = fill.parameter("magnitude");
  const auto span = static_cast<std::uint64_t>(2 * magnitude + 1);
  return static_cast<double>(stream.below(span, k, draw)) - magnitude;
}

double powers_of_two(const RuleFill& fill, const RandomStream& stream, std::uint64_t k,
                     std::uint32_t draw) {
  const double least = fill.parameter("least");
  const auto span = static_cast<std::uint64_t>(fill.parameter("greatest") - least + 1);
  const double power = least + static_cast<double>(stream.below(span, k, draw));
  return std::ldexp((stream.word(k, draw + 2) & 1) != 0 ? -1.0 : 1.0, static_cast<int>(power));
}

double mask(const RuleFill& fill, const RandomStream& stream, std::uint64_t k, std::uint32_t draw) {
  return draw == 0 && stream.uniform(k, draw) < fill.parameter("share") ? 1 : 0;
}

double kaiming(const RuleFill& fill, const RandomStream& stream, std::uint64_t k,
               std::uint32_t draw) {
  const double bound = std::sqrt(1 / fill.parameter("fan_in"));
  return uniform_between(-bound, bound, stream, k, draw);
}

double xavier(const RuleFill& fill, const RandomStream& stream, std::uint64_t k,
              std::uint32_t draw) {
  const double bound = std::sqrt(6 / (fill.parameter("fan_in") + fill.parameter("fan_out")));
  return uniform_between(-bound, bound, stream, k, draw);
}

template <NumberRule number>
FillElements numbers(const FillSource& source) {
  return [source](std::uint64_t k) {
    const auto& [dtype, fill, stream, count] = source;
    const double real = number(fill, stream, k, 0);
    if (!dtype.is_complex()) return encode_number(dtype, real);
    const Dtype& part = *find_dtype(dtype.part);
    return complex_element(part, encode_number(part, real).low,
                           encode_number(part, number(fill, stream, k, 1)).low);
  };
}

// --- rules about patterns, or about all elements ---

/// Fisher and Yates, from the last place of each block down.
FillElements permutation(const FillSource& source) {
  std::vector<std::uint64_t> order(source.count);
  const auto asked = static_cast<std::uint64_t>(source.fill.parameter("block"));
  const std::uint64_t block = asked == 0 ? std::max<std::uint64_t>(source.count, 1) : asked;
  for (std::uint64_t begin = 0; begin < source.count; begin += block) {
    const std::uint64_t size = std::min(block, source.count - begin);
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
    std::iota(first, first + static_cast<std::ptrdiff_t>(size), std::uint64_t{0});
    for (std::uint64_t k = size; k > 1; --k)
      std::swap(first[static_cast<std::ptrdiff_t>(k - 1)],
                first[static_cast<std::ptrdiff_t>(source.stream.below(k, begin + k))]);
  }
  return [&dtype = source.dtype, order = std::move(order)](std::uint64_t k) {
    return encode_number(dtype, static_cast<double>(order[k]));
  };
}

FillElements special(const FillSource& source) {
  return [values = special_values(source.dtype)](std::uint64_t k) {
    return values[k % values.size()];
  };
}

FillElements grid(const FillSource& source) {
  std::vector<ElementBits> values = boundary_values(source.dtype);
  std::uint64_t run = 1;  // how long one value stays
  for (double i = source.fill.parameter("place"); i > 0; --i) run *= values.size();
  return [values = std::move(values), run](std::uint64_t k) {
    return values[k / run % values.size()];
  };
}

FillElements stratified(const FillSource& source) {
  return [&dtype = source.dtype, &stream = source.stream](std::uint64_t k) {
    return stratified_element(dtype, stream, k);
  };
}

FillElements all_bits(const FillSource&) {
  return [](std::uint64_t k) { return ElementBits{k, 0}; };
}

// --- the table ---

constexpr RuleParameter kConstant[] = {{"value", 0}};
constexpr RuleParameter kArange[] = {{"start", 0}, {"step", 1}, {"divide", 1, "not 0"}};
constexpr RuleParameter kUniform[] = {{"low", 0}, {"high", 1}};
constexpr RuleParameter kNormal[] = {{"mean", 0}, {"std", 1}};
constexpr RuleParameter kIntegers[] = {{"low", 0, "an integer within 2^53"},
                                       {"high", 10, "an integer above low, within 2^53"}};
constexpr RuleParameter kSmallIntegers[] = {{"magnitude", 4, "an integer from 0 to 2^31"}};
constexpr RuleParameter kPowersOfTwo[] = {
    {"least", -4, "an integer within 1100"},
    {"greatest", 4, "an integer within 1100, at least least"}};
constexpr RuleParameter kPermutation[] = {{"block", 0, "an integer from 0 to 2^31"}};
constexpr RuleParameter kMask[] = {{"share", 0.5, "from 0 to 1"}};
constexpr RuleParameter kGrid[] = {{"place", 0, "an integer from 0 to 7"}};
constexpr RuleParameter kKaiming[] = {{"fan_in", 0, "at least 1", fan_in}};
constexpr RuleParameter kXavier[] = {{"fan_in", 0, "at least 1", fan_in},
                                     {"fan_out", 0, "", fan_out}};

constexpr std::array kFillRules = {
    FillRule{.name = "constant",
             .parameters = kConstant,
             .direct = true,
             .opaque = true,
             .fault = no_fault,
             .elements = numbers<constant>,
             .meaning = "the same everywhere"},
    FillRule{.name = "arange",
             .parameters = kArange,
             .fault = arange_fault,
             .elements = numbers<arange>,
             .meaning = "(start + k·step) / divide, rounded once"},
    FillRule{.name = "uniform",
             .parameters = kUniform,
             .seeded = true,
             .fault = no_fault,
             .elements = numbers<uniform>,
             .meaning = "uniform in [low, high)"},
    FillRule{.name = "normal",
             .parameters = kNormal,
             .seeded = true,
             .fault = no_fault,
             .elements = numbers<normal>,
             .meaning = "nearly normal, cut at 6 standard deviations"},
    FillRule{.name = "integers",
             .parameters = kIntegers,
             .seeded = true,
             .fault = integers_fault,
             .elements = numbers<integers>,
             .meaning = "an integer in [low, high)"},
    FillRule{.name = "small_integers",
             .parameters = kSmallIntegers,
             .seeded = true,
             .fault = small_integers_fault,
             .elements = numbers<small_integers>,
             .meaning = "an integer in ±magnitude: sums and products are exact in any order"},
    FillRule{.name = "powers_of_two",
             .parameters = kPowersOfTwo,
             .seeded = true,
             .fault = powers_fault,
             .elements = numbers<powers_of_two>,
             .meaning = "±2^e with least ≤ e ≤ greatest: products are exact"},
    FillRule{.name = "permutation",
             .parameters = kPermutation,
             .seeded = true,
             .whole = true,
             .fault = permutation_fault,
             .elements = permutation,
             .meaning =
                 "0 to n − 1 in random order; with `block` b, 0 to b − 1 in every block of b "
                 "elements: b is the size of the last dimension for an order in each row"},
    FillRule{.name = "mask",
             .parameters = kMask,
             .seeded = true,
             .direct = true,
             .fault = mask_fault,
             .elements = numbers<mask>,
             .meaning = "1 (true) with the probability `share`, else 0"},
    FillRule{.name = "special",
             .fault = no_fault,
             .elements = special,
             .meaning = "the boundary values of the dtype, over and over"},
    FillRule{.name = "grid",
             .parameters = kGrid,
             .fault = grid_fault,
             .elements = grid,
             .meaning = "boundary value (k / V^place) mod V of a larger set of V: inputs with "
                        "places 0 and 1 have every pair in V² elements; V is at most 128"},
    FillRule{.name = "stratified",
             .seeded = true,
             .fault = no_fault,
             .elements = stratified,
             .meaning = "every sign and exponent in turn: mantissas at boundaries, then random "
                        "ones, half of which end at or next to a rounding tie; integers of every "
                        "length; bool alternates"},
    FillRule{.name = "all_bits",
             .opaque = true,
             .fault = all_bits_fault,
             .elements = all_bits,
             .meaning = "the bit pattern k; dtypes of at most 16 bits"},
    FillRule{.name = "kaiming",
             .parameters = kKaiming,
             .seeded = true,
             .fault = fan_fault,
             .elements = numbers<kaiming>,
             .meaning = "uniform in ±sqrt(1 / fan_in), as torch draws weights of linear layers "
                        "and convolutions"},
    FillRule{.name = "xavier",
             .parameters = kXavier,
             .seeded = true,
             .fault = fan_fault,
             .elements = numbers<xavier>,
             .meaning = "uniform in ±sqrt(6 / (fan_in + fan_out))"},
};
static_assert(std::all_of(kFillRules.begin(), kFillRules.end(), [](const FillRule& rule) {
  return !rule.name.empty() && !rule.meaning.empty() &&
         (!rule.direct || rule.parameters.size() == 1);
}));

}  // namespace

std::span<const FillRule> fill_rules() { return kFillRules; }

const FillRule* find_fill_rule(std::string_view name) { return find_named(kFillRules, name); }

}  // namespace lockstep
