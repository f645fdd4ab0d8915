#include "judge/numerics/classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "judge/numerics/numbers.h"

// For the loop of count_wide at every -O level.
#pragma GCC optimize("O3")

namespace lockstep {
namespace {

/// In the order in which they are asked for.
enum class Class {
  eager_nan,
  compiled_nan,
  eager_infinity,
  compiled_infinity,
  infinity_sign,
  zero_sign,
  subnormal,
  last_bits,
  value,
  none
};

using Counts = std::array<std::int64_t, static_cast<std::size_t>(Class::none) + 1>;

/// As far apart as grade `ulp4` allows.
constexpr std::uint64_t kLastBits = 4;

Class class_of(const Dtype& number, std::uint64_t e, std::uint64_t c) {
  if (e == c) return Class::none;
  const bool nan = is_nan(number, e), infinite = is_infinity(number, e);
  if (nan != is_nan(number, c)) return nan ? Class::eager_nan : Class::compiled_nan;
  if (nan) return Class::none;
  if (infinite && is_infinity(number, c)) return Class::infinity_sign;
  if (infinite) return Class::eager_infinity;
  if (is_infinity(number, c)) return Class::compiled_infinity;
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

/// The classes of a block, element by element.
void count_each(const Dtype& dtype, const std::byte* e, const std::byte* c, std::size_t count,
                Counts& counts) {
  const Dtype& number = number_dtype(dtype);
  const auto bytes = static_cast<std::size_t>(dtype.bytes);
  const auto step = static_cast<std::size_t>(number.bytes);
  for (std::size_t at = 0; at < count * bytes; at += bytes) {
    Class worst = Class::none;
    for (std::size_t part = at; part < at + bytes; part += step) {
      worst = std::min(worst, class_of(number, load_bits(e + part, number.bytes),
                                       load_bits(c + part, number.bytes)));
    }
    ++counts[static_cast<std::size_t>(worst)];
  }
}

/// The same for formats with infinities, the usual ones of large tensors: without branches, so that
/// it becomes vector code.
template <class Raw>
void count_wide(const Dtype& dtype, const std::byte* e, const std::byte* c, std::size_t count,
                Counts& counts) {
  constexpr int sign_at = 8 * sizeof(Raw) - 1;
  constexpr auto magnitude = static_cast<Raw>(static_cast<Raw>(~Raw{0}) >> 1);
  const auto normal = static_cast<Raw>(Raw{1} << dtype.mantissa_bits);
  const auto infinity = static_cast<Raw>(magnitude - (normal - 1));
  Raw differing = 0, eager_nan = 0, compiled_nan = 0, eager_infinite = 0, compiled_infinite = 0;
  Raw infinite = 0, zero = 0, subnormal = 0, last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Raw x, y;
    std::memcpy(&x, e + i * sizeof x, sizeof x);
    std::memcpy(&y, c + i * sizeof y, sizeof y);
    const auto mx = static_cast<Raw>(x & magnitude);
    const auto my = static_cast<Raw>(y & magnitude);
    const Raw larger = mx > my ? mx : my;
    const Raw smaller = mx > my ? my : mx;
    const Raw opposite = static_cast<Raw>(static_cast<Raw>(x ^ y) >> sign_at);
    const auto apart = static_cast<Raw>(opposite != 0 ? larger + smaller : larger - smaller);
    const Raw differs = static_cast<Raw>(x != y) & static_cast<Raw>(smaller <= infinity);
    const Raw few = static_cast<Raw>(apart <= kLastBits);
    const Raw finite = static_cast<Raw>(larger < infinity);
    const Raw small = static_cast<Raw>(larger < normal);
    const Raw none = static_cast<Raw>(larger == 0);
    differing = static_cast<Raw>(differing + differs);
    const Raw eager_less = static_cast<Raw>(mx < my);
    const Raw a_nan = static_cast<Raw>(differs & static_cast<Raw>(larger > infinity));
    const Raw an_infinity = static_cast<Raw>(differs & static_cast<Raw>(larger == infinity));
    const Raw one = static_cast<Raw>(an_infinity & static_cast<Raw>(smaller < infinity));
    eager_nan = static_cast<Raw>(eager_nan + (a_nan & (eager_less ^ 1)));
    compiled_nan = static_cast<Raw>(compiled_nan + (a_nan & eager_less));
    eager_infinite = static_cast<Raw>(eager_infinite + (one & (eager_less ^ 1)));
    compiled_infinite = static_cast<Raw>(compiled_infinite + (one & eager_less));
    infinite = static_cast<Raw>(infinite + (an_infinity ^ one));
    zero = static_cast<Raw>(zero + (differs & none));
    subnormal = static_cast<Raw>(subnormal + (differs & small & (none ^ 1)));
    last = static_cast<Raw>(last + (differs & finite & few & (small ^ 1)));
  }
  const Raw found[] = {eager_nan, compiled_nan, eager_infinite, compiled_infinite,
                       infinite,  zero,         subnormal,      last};
  std::int64_t& value = counts[static_cast<std::size_t>(Class::value)];
  value += static_cast<std::int64_t>(differing);
  for (std::size_t i = 0; i < std::size(found); ++i) {
    counts[i] += static_cast<std::int64_t>(found[i]);
    value -= static_cast<std::int64_t>(found[i]);
  }
}

auto counter_for(const Dtype& dtype) {
  if (!dtype.is_floating() || dtype.bytes == 1) return &count_each;
  if (dtype.bytes == 2) return &count_wide<std::uint16_t>;
  return dtype.bytes == 4 ? &count_wide<std::uint32_t> : &count_wide<std::uint64_t>;
}

}  // namespace

DifferenceClasses difference_classes(const TensorWalk& walk, const Dtype& dtype,
                                     const PassOptions& options) {
  const auto counter = counter_for(dtype);
  std::vector<Counts> parts(chunk_count(walk.elements()));
  const auto count = [&](std::size_t chunk, std::int64_t begin, std::int64_t end) {
    walk.visit(begin, end, [&](std::int64_t, std::int64_t elements, const auto& blocks) {
      const auto in_block = static_cast<std::size_t>(elements);
      const std::size_t size = in_block * static_cast<std::size_t>(dtype.bytes);
      if (std::memcmp(blocks[0], blocks[1], size) == 0) return;
      counter(dtype, blocks[0], blocks[1], in_block, parts[chunk]);
    });
  };
  for_chunks(walk.elements(), dtype.bytes, options.threads, count);
  Counts total{};
  for (const Counts& part : parts) {
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i] * walk.multiplicity();
  }
  const auto of = [&](Class each) { return total[static_cast<std::size_t>(each)]; };
  DifferenceClasses classes;
  classes.eager_nan = of(Class::eager_nan);
  classes.nan = classes.eager_nan + of(Class::compiled_nan);
  classes.eager_infinity = of(Class::eager_infinity);
  classes.compiled_infinity = of(Class::compiled_infinity);
  classes.infinity = classes.eager_infinity + classes.compiled_infinity + of(Class::infinity_sign);
  classes.zero_sign = of(Class::zero_sign);
  classes.subnormal = of(Class::subnormal);
  classes.last_bits = of(Class::last_bits);
  classes.value = of(Class::value);
  return classes;
}

std::vector<std::int64_t> ulp_histogram(const TensorWalk& walk, const Dtype& dtype,
                                        const PassOptions& options) {
  const Dtype& number = number_dtype(dtype);
  const auto bytes = static_cast<std::size_t>(dtype.bytes);
  const auto step = static_cast<std::size_t>(number.bytes);
  const auto finite = [&](std::uint64_t bits) {
    return !is_nan(number, bits) && !is_infinity(number, bits);
  };
  std::vector<std::array<std::int64_t, 65>> parts(chunk_count(walk.elements()));
  const auto count = [&](std::size_t chunk, std::int64_t begin, std::int64_t end) {
    walk.visit(begin, end, [&](std::int64_t, std::int64_t elements, const auto& blocks) {
      const std::size_t size = static_cast<std::size_t>(elements) * bytes;
      if (std::memcmp(blocks[0], blocks[1], size) == 0) return;
      for (std::size_t at = 0; at < size; at += bytes) {
        std::uint64_t apart = 0;
        for (std::size_t part = at; part < at + bytes; part += step) {
          const std::uint64_t e = load_bits(blocks[0] + part, number.bytes);
          const std::uint64_t c = load_bits(blocks[1] + part, number.bytes);
          if (e != c && finite(e) && finite(c)) apart = std::max(apart, ulp_distance(number, e, c));
        }
        if (apart > 0) ++parts[chunk][static_cast<std::size_t>(std::bit_width(apart - 1))];
      }
    });
  };
  for_chunks(walk.elements(), dtype.bytes, options.threads, count);
  std::vector<std::int64_t> total(65);
  for (const auto& part : parts) {
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i] * walk.multiplicity();
  }
  while (!total.empty() && total.back() == 0) total.pop_back();
  return total;
}

}  // namespace lockstep
