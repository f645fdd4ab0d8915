#include "judge/numerics/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "judge/numerics/gold.h"
#include "judge/numerics/numbers.h"

namespace lockstep {
namespace {

constexpr std::size_t kFirst = 4;

// Of an ErrorCurve.
constexpr std::int64_t kLeastElements = 256;
constexpr std::size_t kMostParts = 256;
constexpr std::size_t kPartsInOne = 4;  ///< where both sides are alike: their curve says little

using Block = std::array<double, static_cast<std::size_t>(TensorWalk::kBlock) * 2>;

/// An element of a view, conj and neg resolved.
std::string element(const TensorView& view, std::int64_t position, bool with_bits) {
  const std::array views = {&view};
  std::string text;
  TensorWalk(views, TensorWalk::Order::index)
      .visit(position, position + 1, [&](std::int64_t, std::int64_t, const auto& blocks) {
        text = format_element(*view.dtype, blocks[0]);
        if (with_bits) text += fmt::format(" ({})", format_bits(*view.dtype, blocks[0]));
      });
  return text;
}

/// Raises the kind of each element (an index of kInputKinds) to that of this input's.
void raise_kinds(const TensorView& input, std::vector<std::uint8_t>& kinds) {
  const Dtype& number = number_dtype(*input.dtype);
  if (!number.is_floating()) return;
  const std::size_t parts = input.dtype->is_complex() ? 2 : 1;
  const double normal = std::ldexp(1.0, smallest_exponent(number));
  const std::array views = {&input};
  Block values;
  TensorWalk(views, TensorWalk::Order::index)
      .visit(0, input.elements(), [&](std::int64_t position, std::int64_t count, const auto& of) {
        const auto elements = static_cast<std::size_t>(count);
        decode_block(*input.dtype, of[0], elements, values.data());
        for (std::size_t i = 0; i < elements * parts; ++i) {
          const double magnitude = std::fabs(values[i]);
          const bool special = !(magnitude > 0) || !std::isfinite(magnitude);
          const std::uint8_t kind = special ? 2 : magnitude < normal ? 1 : 0;
          std::uint8_t& raised = kinds[static_cast<std::size_t>(position) + i / parts];
          raised = std::max(raised, kind);
        }
      });
}

/// Errors in ulp of a dtype.  Those of at most 32 bits have ulp whose reciprocals are normal
/// doubles.
class UlpError {
 public:
  explicit UlpError(const Dtype& dtype)
      : dtype_(dtype),
        // Everything between the greatest finite number and the next power of two has its exponent.
        greatest_exponent_(greatest_exponent(dtype)),
        smallest_exponent_(smallest_exponent(dtype)) {}

  double operator()(double result, double gold) const {
    if (!std::isfinite(gold) || !std::isfinite(result)) return special(result, gold);
    if (dtype_.bytes == 8) return std::fabs(result - gold) / ulp_at(dtype_, gold);
    const auto field = static_cast<int>(std::bit_cast<std::uint64_t>(gold) >> 52 & 0x7ff);
    const int exponent = std::clamp(field - 1023, smallest_exponent_, greatest_exponent_);
    const auto per_ulp = static_cast<std::uint64_t>(1023 + dtype_.mantissa_bits - exponent);
    return std::fabs(result - gold) * std::bit_cast<double>(per_ulp << 52);
  }

 private:
  double special(double result, double gold) const {
    const double truth = decode_float(dtype_, encode_float(dtype_, gold));
    const bool right = std::isnan(truth) ? std::isnan(result) : result == truth;
    return right ? 0 : HUGE_VAL;
  }

  const Dtype& dtype_;
  int greatest_exponent_, smallest_exponent_;
};

/// A part of an ErrorCurve: its least input, and the greatest errors.
struct CurvePart {
  double from = HUGE_VAL, eager = -1, compiled = -1;

  void add(const CurvePart& other) {
    from = std::min(from, other.from);
    eager = std::max(eager, other.eager);
    compiled = std::max(compiled, other.compiled);
  }
};

/// The curve of those parts that have any input.
ErrorCurve curve_of(const std::string& input, std::span<const CurvePart> parts) {
  const bool alike = std::all_of(parts.begin(), parts.end(), [](const CurvePart& part) {
    return three_digits(part.eager) == three_digits(part.compiled);
  });
  ErrorCurve curve{input, {}, {}, {}};
  const std::size_t step = alike ? kPartsInOne : 1;
  for (std::size_t begin = 0; begin < parts.size(); begin += step) {
    CurvePart part;
    for (const CurvePart& each : parts.subspan(begin, step)) part.add(each);
    if (part.eager < 0) continue;
    curve.from.push_back(three_digits(part.from));
    curve.eager.push_back(three_digits(part.eager));
    if (!alike) curve.compiled.push_back(three_digits(part.compiled));
  }
  return curve;
}

}  // namespace

std::vector<FirstDifference> first_differences(const TensorView& eager, const TensorView& compiled,
                                               const PointwiseInputs& inputs) {
  const auto bytes = static_cast<std::size_t>(eager.dtype->bytes);
  const std::array views = {&eager, &compiled};
  const TensorWalk walk(views, TensorWalk::Order::index);
  std::vector<std::int64_t> positions;
  walk.visit(0, walk.elements(), [&](std::int64_t position, std::int64_t count, const auto& of) {
    const auto size = static_cast<std::size_t>(count) * bytes;
    if (positions.size() == kFirst || std::memcmp(of[0], of[1], size) == 0) return;
    for (std::size_t at = 0; at < size && positions.size() < kFirst; at += bytes) {
      if (!same_element(*eager.dtype, of[0] + at, of[1] + at)) {
        positions.push_back(position + static_cast<std::int64_t>(at / bytes));
      }
    }
  });
  std::vector<FirstDifference> all;
  for (const std::int64_t position : positions) {
    FirstDifference& first = all.emplace_back();
    first.index = walk.index_of(position);
    for (const auto& [name, input] : inputs) {
      first.inputs.push_back(fmt::format("{} = {}", name, element(*input, position, true)));
    }
    first.eager = element(eager, position, false);
    first.compiled = element(compiled, position, false);
  }
  return all;
}

bool has_accuracy(const Dtype& dtype, const ValueOrigin* origin) {
  return dtype.is_floating() && (dtype.bytes <= 4 || origin != nullptr);
}

std::vector<Accuracy> accuracy(const TensorView& eager, const TensorView& compiled,
                               const TensorView& gold, const PointwiseInputs& inputs) {
  const Dtype& dtype = *eager.dtype;
  std::vector<std::uint8_t> kinds(static_cast<std::size_t>(eager.elements()), 0);
  for (const auto& [name, input] : inputs) raise_kinds(*input, kinds);

  const UlpError error(dtype);
  const std::array views = {&eager, &compiled, &gold};
  const TensorWalk walk(views, TensorWalk::Order::index);
  std::array<Accuracy, kInputKinds.size() + 1> rows;  // the last one of what differs
  Block e, c, g;
  walk.visit(0, walk.elements(), [&](std::int64_t position, std::int64_t count, const auto& of) {
    const auto elements = static_cast<std::size_t>(count);
    const std::uint8_t* kind = kinds.data() + position;
    decode_block(*gold.dtype, of[2], elements, g.data());
    decode_block(dtype, of[0], elements, e.data());
    const auto bytes = elements * static_cast<std::size_t>(dtype.bytes);
    const bool equal = std::memcmp(of[0], of[1], bytes) == 0;
    if (!equal) decode_block(dtype, of[1], elements, c.data());
    for (std::size_t i = 0; i < elements; ++i) {
      const double of_eager = error(e[i], g[i]);
      const double of_compiled = equal ? of_eager : error(c[i], g[i]);
      const auto count_in = [&](Accuracy& row) {
        ++row.elements;
        row.eager = std::max(row.eager, of_eager);
        row.compiled = std::max(row.compiled, of_compiled);
      };
      count_in(rows[kind[i]]);
      const bool differs = !equal && e[i] != c[i] && !(std::isnan(e[i]) && std::isnan(c[i]));
      if (differs) count_in(rows.back());
    }
  });
  std::vector<Accuracy> found;
  for (std::size_t kind = 0; kind < rows.size(); ++kind) {
    if (rows[kind].elements == 0) continue;
    rows[kind].inputs = kind < kInputKinds.size() ? kInputKinds[kind] : kDiffering;
    found.push_back(std::move(rows[kind]));
  }
  return found;
}

std::optional<ErrorCurve> error_curve(const TensorView& eager, const TensorView& compiled,
                                      const TensorView& gold, const PointwiseInputs& inputs) {
  const auto along = std::find_if(inputs.begin(), inputs.end(), [](const auto& input) {
    return input.second->dtype->is_floating();
  });
  if (along == inputs.end() || eager.elements() < kLeastElements) return std::nullopt;
  const Dtype& dtype = *eager.dtype;
  const Dtype& of_input = *along->second->dtype;
  const std::array views = {&eager, &compiled, &gold, along->second};
  const TensorWalk walk(views, TensorWalk::Order::index);
  const auto bits_at = [&](const std::byte* block, std::size_t i) {
    return load_bits(block + i * static_cast<std::size_t>(of_input.bytes), of_input.bytes);
  };
  const auto has_place = [&](std::uint64_t bits) {
    return !is_nan(of_input, bits) && !is_infinity(of_input, bits);
  };
  auto least = std::numeric_limits<std::int64_t>::max();
  auto greatest = std::numeric_limits<std::int64_t>::min();
  walk.visit(0, walk.elements(), [&](std::int64_t, std::int64_t count, const auto& of) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const std::uint64_t bits = bits_at(of[3], i);
      if (!has_place(bits)) continue;
      least = std::min(least, ordered(of_input, bits));
      greatest = std::max(greatest, ordered(of_input, bits));
    }
  });
  if (least > greatest) return std::nullopt;
  const auto place_of = [&](std::int64_t place) {
    return static_cast<std::uint64_t>(place) - static_cast<std::uint64_t>(least);
  };
  const std::uint64_t width = place_of(greatest) / kMostParts + 1;

  std::array<CurvePart, kMostParts> parts;
  const UlpError error(dtype);
  Block e, c, g, x;
  walk.visit(0, walk.elements(), [&](std::int64_t, std::int64_t count, const auto& of) {
    const auto elements = static_cast<std::size_t>(count);
    decode_block(dtype, of[0], elements, e.data());
    decode_block(dtype, of[1], elements, c.data());
    decode_block(*gold.dtype, of[2], elements, g.data());
    decode_block(of_input, of[3], elements, x.data());
    for (std::size_t i = 0; i < elements; ++i) {
      const std::uint64_t bits = bits_at(of[3], i);
      if (!has_place(bits)) continue;
      parts[place_of(ordered(of_input, bits)) / width].add(
          {x[i], error(e[i], g[i]), error(c[i], g[i])});
    }
  });
  return curve_of(along->first, parts);
}

NearerSide nearer_side(const Accuracy& differing, const Dtype& dtype, const ValueOrigin* origin) {
  const bool finite = std::isfinite(differing.eager) && std::isfinite(differing.compiled);
  const double own = dtype.bytes == 8 && origin != nullptr ? origin->ulp : 0;
  if (finite && std::fabs(differing.compiled - differing.eager) < 2 * own) return {};
  const std::string gold = fmt::format("the fp64 gold ({})", source_of(origin));
  return {side_by_errors(differing.eager, differing.compiled),
          fmt::format("where they differ, eager is {}, compiled {}",
                      error_text(differing.eager, gold), error_text(differing.compiled, "it"))};
}

}  // namespace lockstep
