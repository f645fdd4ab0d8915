#include "judge/classes.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "judge/numbers.h"

namespace lockstep {
namespace {

/// In the order in which they are asked for.
enum class Class { nan, infinity, zero_sign, subnormal, last_bits, value, none };

using Counts = std::array<std::int64_t, static_cast<std::size_t>(Class::none) + 1>;

/// As far apart as grade `ulp4` allows.
constexpr std::uint64_t kLastBits = 4;

Class class_of(const Dtype& number, std::uint64_t e, std::uint64_t c) {
  if (e == c) return Class::none;
  const bool nan = is_nan(number, e);
  if (nan != is_nan(number, c)) return Class::nan;
  if (nan) return Class::none;
  if (is_infinity(number, e) || is_infinity(number, c)) return Class::infinity;
  const std::int64_t x = ordered(number, e);
  const std::int64_t y = ordered(number, c);
  const auto below = [&](std::int64_t magnitude) {
    return std::abs(x) < magnitude && std::abs(y) < magnitude;
  };
  // An exponent-only format has neither zeros nor subnormals.
  if (number.mantissa_bits > 0) {
    if (below(1)) return Class::zero_sign;
    if (below(std::int64_t{1} << number.mantissa_bits)) return Class::subnormal;
  }
  return ulp_distance(number, e, c) <= kLastBits ? Class::last_bits : Class::value;
}

}  // namespace

DifferenceClasses difference_classes(const JointWalk& walk, const Dtype& dtype,
                                     const PassOptions& options) {
  const Dtype& number = number_dtype(dtype);
  const auto bytes = static_cast<std::size_t>(dtype.bytes);
  const auto step = static_cast<std::size_t>(number.bytes);
  std::vector<Counts> parts(chunk_count(walk.elements()));
  const auto count = [&](std::size_t chunk, std::int64_t begin, std::int64_t end) {
    walk.visit(begin, end, [&](std::int64_t, std::int64_t elements, const auto& blocks) {
      const std::size_t size = static_cast<std::size_t>(elements) * bytes;
      if (std::memcmp(blocks[0], blocks[1], size) == 0) return;
      for (std::size_t at = 0; at < size; at += bytes) {
        Class worst = Class::none;
        for (std::size_t part = at; part < at + bytes; part += step) {
          worst = std::min(worst, class_of(number, load_bits(blocks[0] + part, number.bytes),
                                           load_bits(blocks[1] + part, number.bytes)));
        }
        ++parts[chunk][static_cast<std::size_t>(worst)];
      }
    });
  };
  for_chunks(walk.elements(), dtype.bytes, options.threads, count);
  Counts total{};
  for (const Counts& part : parts) {
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i] * walk.multiplicity();
  }
  return {total[0], total[1], total[2], total[3], total[4], total[5]};
}

std::string describe(const DifferenceClasses& classes) {
  const std::pair<std::int64_t, std::string_view> counts[] = {{classes.nan, "NaN"},
                                                              {classes.infinity, "infinity"},
                                                              {classes.zero_sign, "sign of zero"},
                                                              {classes.subnormal, "subnormal"},
                                                              {classes.last_bits, "last bits"},
                                                              {classes.value, "value"}};
  std::vector<std::string> texts;
  for (const auto& [count, name] : counts) {
    if (count > 0) {
      texts.push_back(fmt::format("{} {}", grouped(static_cast<std::uint64_t>(count)), name));
    }
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace lockstep
