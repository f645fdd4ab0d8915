#include "judge/numerics/kernels.h"

#include "judge/numerics/first_places.h"
#include "judge/numerics/float_kernel.h"
#include "judge/numerics/integer_kernel.h"

// For the templates of this file at every -O level.
#pragma GCC optimize("O3")

namespace lockstep {
namespace {

using namespace kernels;

// A one-byte dtype's elements are looked up.

struct ByteTable {
  std::array<std::uint32_t, 256> bits;  ///< as float32
  std::array<std::int32_t, 256> order;
};

ByteTable make_table(const Dtype& dtype) {
  ByteTable table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    table.bits[i] = std::bit_cast<std::uint32_t>(static_cast<float>(decode_float(dtype, i)));
    table.order[i] = static_cast<std::int32_t>(ordered(dtype, i));
  }
  return table;
}

const ByteTable& table_of(const Dtype& dtype) {
  static const std::vector<ByteTable> tables = [] {
    std::vector<ByteTable> all;
    for (const Dtype& each : all_dtypes()) {
      all.push_back(each.is_floating() && each.bytes == 1 ? make_table(each) : ByteTable{});
    }
    return all;
  }();
  return tables[static_cast<std::size_t>(&dtype - all_dtypes().data())];
}

/// Keeps `all_zero` and `all_nan` as long as they may be true.
template <class Raw>
LOCKSTEP_INLINE void note_vacuous(const std::byte* eager, const std::byte* compiled,
                                  std::size_t count, Raw infinity, PairNumbers& numbers) {
  Raw any = 0;
  Raw number = 0;  ///< ones where it is no NaN on one side at least
  for (std::size_t i = 0; i < count; ++i) {
    const Raw me = static_cast<Raw>(load<Raw>(eager, i) & kMagnitude<Raw>);
    const Raw mc = static_cast<Raw>(load<Raw>(compiled, i) & kMagnitude<Raw>);
    any = static_cast<Raw>(any | me | mc);
    const Raw smaller = me < mc ? me : mc;
    number = static_cast<Raw>(number | static_cast<Raw>(smaller <= infinity));
  }
  numbers.all_zero = numbers.all_zero && any == 0;
  numbers.all_nan = numbers.all_nan && number == 0;
}

constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// Distance in ulp up to which every pair of finite numbers is close, so that nothing needs to be
/// measured.  k steps from a normal e are at most k 2^-m |e| (m bits of mantissa, k <= 2^m): down
/// or within e's binade a step is at most its ulp, 2^-m |e|; If j steps reach the next binade and k
/// - j steps of twice the size follow, |e| = (2 - j 2^-m) 2^E. The sum is then (2k - j) 2^(E-m) <=
/// k 2^-m |e|. The k steps of a subnormal must be within atol. What is allowed is
/// taken a little smaller, for the roundings on the way to it.
template <class Format>
LOCKSTEP_INLINE std::uint64_t free_ulps(const Tolerance& tolerance) {
  constexpr double step = power_of_two(-Format::kMantissa);
  const double rtol = tolerance.rtol * (1 - 2 * step) * (1 - power_of_two(-20));
  const auto free =
      static_cast<std::uint64_t>(std::min(rtol / step, power_of_two(Format::kMantissa - 1)));
  constexpr double subnormal = step * power_of_two(std::max(Format::kSmallest, -900));
  return 2 * static_cast<double>(free) * subnormal <= tolerance.atol ? free : 0;
}

/// Units in the last place between two numbers of the same format.
template <class Raw>
LOCKSTEP_INLINE std::uint64_t ulp_between(Raw eager, Raw compiled) {
  const auto order = [](Raw raw) -> std::int64_t {
    const auto magnitude = static_cast<std::int64_t>(raw & kMagnitude<Raw>);
    return raw > kMagnitude<Raw> ? -magnitude : magnitude;
  };
  const std::int64_t e = order(eager), c = order(compiled);
  return static_cast<std::uint64_t>(std::max(e, c)) - static_cast<std::uint64_t>(std::min(e, c));
}

template <class Format>
LOCKSTEP_INLINE void float_kernel(const Dtype&, const std::byte* eager, const std::byte* compiled,
                                  std::size_t count, std::int64_t position,
                                  const Tolerance& tolerance, PairNumbers& numbers) {
  using Raw = typename Format::Raw;
  using Bits = typename Format::Bits;
  using Float = typename Format::Float;
  if (numbers.all_zero || numbers.all_nan) {
    note_vacuous<Raw>(eager, compiled, count, Format::kInfinity, numbers);
  }
  if (std::memcmp(eager, compiled, count * sizeof(Raw)) == 0) return;
  const Scan<Raw> found = scan<Raw>(eager, compiled, count);
  numbers.payload_differing += found.payload;
  const auto first_here = [&] {
    return find(count, position,
                [&](auto i) { return load<Raw>(eager, i) != load<Raw>(compiled, i); });
  };
  if (numbers.first_payload < 0) numbers.first_payload = first_here();
  const auto rtol = static_cast<Float>(tolerance.rtol);
  const auto atol = static_cast<Float>(tolerance.atol);
  const bool finite = found.largest < Format::kInfinity;
  if (finite) {
    numbers.differing += found.payload;
    numbers.unequal += found.unequal;
    if (numbers.first_differing < 0) numbers.first_differing = first_here();
    if (found.unequal == 0) return;
    // k steps are at most k units in the last place of the largest number; relative to e see
    // free_ulps.
    const auto steps = static_cast<double>(found.max_ulp);
    const auto largest = static_cast<double>(
        std::bit_cast<Float>(Format::widen(static_cast<Raw>(found.largest & Format::kInfinity))));
    constexpr double unit = power_of_two(-Format::kMantissa);
    const double most = steps * unit * std::max(largest, power_of_two(Format::kSmallest));
    const bool normal = found.smallest >= (Raw{1} << Format::kMantissa) - 1;
    const bool bounded = normal && steps * unit <= 1;
    const double most_relative = bounded ? steps * unit : HUGE_VAL;
    const bool nothing_new = most <= numbers.max_abs && most_relative <= numbers.max_rel &&
                             found.max_ulp <= numbers.max_ulp;
    if (nothing_new && found.max_ulp <= free_ulps<Format>(tolerance)) return;
  }
  const Elements<Format> elements(eager, compiled, rtol, atol);
  const auto ulp_of = [&](std::size_t i) {
    return ulp_between(load<Raw>(eager, i), load<Raw>(compiled, i));
  };
  if (finite) {
    // A little less than the greatest so far, because a product rounds.
    const auto relative = static_cast<Float>(numbers.max_rel * (1 - 0x1p-20));
    const Measure<Bits> measured = measure<Format>(eager, compiled, count, rtol, atol, relative);
    numbers.not_close += static_cast<std::int64_t>(measured.not_close);
    if (measured.above > 0) {
      const auto greatest = std::bit_cast<Float>(greatest_relative<Format>(eager, compiled, count));
      numbers.max_rel = std::max(numbers.max_rel, static_cast<double>(greatest));
    }
    note_places(elements, count, position, std::bit_cast<Float>(measured.max_abs), numbers);
    if (found.max_ulp > numbers.max_ulp) {
      numbers.max_ulp = found.max_ulp;
      numbers.max_ulp_at =
          find(count, position, [&](auto i) { return ulp_of(i) == found.max_ulp; });
    }
    return;
  }
  const General<Bits> seen = general<Format>(eager, compiled, count, rtol, atol);
  numbers.differing += static_cast<std::int64_t>(seen.differing);
  numbers.unequal += static_cast<std::int64_t>(seen.unequal);
  numbers.nonfinite += static_cast<std::int64_t>(seen.nonfinite);
  numbers.not_close += static_cast<std::int64_t>(seen.not_close);
  if (seen.unequal > 0) {
    const auto greatest = std::bit_cast<Float>(greatest_relative<Format>(eager, compiled, count));
    numbers.max_rel = std::max(numbers.max_rel, static_cast<double>(greatest));
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t ulp = elements.finite(i) ? ulp_of(i) : 0;
      if (ulp <= numbers.max_ulp) continue;
      numbers.max_ulp = ulp;
      numbers.max_ulp_at = position + static_cast<std::int64_t>(i);
    }
  }
  note_places(elements, count, position, std::bit_cast<Float>(seen.max_abs), numbers);
}

struct FloatByte {};

/// One-byte dtypes have codes of their own for NaN, so that bits, order and value are three tables.
template <>
LOCKSTEP_INLINE void float_kernel<FloatByte>(const Dtype& dtype, const std::byte* eager,
                                             const std::byte* compiled, std::size_t count,
                                             std::int64_t position, const Tolerance& tolerance,
                                             PairNumbers& numbers) {
  const bool equal = std::memcmp(eager, compiled, count) == 0;
  if (equal && !numbers.all_zero && !numbers.all_nan) return;
  const ByteTable& table = table_of(dtype);
  std::array<std::uint32_t, kBlock> floats[2];
  for (std::size_t i = 0; i < count; ++i) {
    floats[0][i] = table.bits[load<std::uint8_t>(eager, i)];
    floats[1][i] = table.bits[load<std::uint8_t>(compiled, i)];
  }
  const auto* wide_e = reinterpret_cast<const std::byte*>(floats[0].data());
  const auto* wide_c = reinterpret_cast<const std::byte*>(floats[1].data());
  note_vacuous<std::uint32_t>(wide_e, wide_c, count, Float32::kInfinity, numbers);
  if (equal) return;
  const auto rtol = static_cast<float>(tolerance.rtol);
  const auto atol = static_cast<float>(tolerance.atol);
  const Elements<Float32> elements(wide_e, wide_c, rtol, atol);
  const General<std::uint32_t> seen = general<Float32>(wide_e, wide_c, count, rtol, atol);
  for (std::size_t i = 0; i < count; ++i) {
    const auto e = load<std::uint8_t>(eager, i);
    const auto c = load<std::uint8_t>(compiled, i);
    const std::int64_t at = position + static_cast<std::int64_t>(i);
    if (e != c && numbers.first_payload < 0) numbers.first_payload = at;
    numbers.payload_differing += e != c;
    const auto ulp = static_cast<std::uint64_t>(std::abs(table.order[e] - table.order[c]));
    if (ulp > numbers.max_ulp && elements.finite(i)) {
      numbers.max_ulp = ulp;
      numbers.max_ulp_at = at;
    }
  }
  numbers.differing += seen.differing;
  numbers.unequal += seen.unequal;
  numbers.nonfinite += seen.nonfinite;
  numbers.not_close += seen.not_close;
  const auto greatest = std::bit_cast<float>(greatest_relative<Float32>(wide_e, wide_c, count));
  numbers.max_rel = std::max(numbers.max_rel, static_cast<double>(greatest));
  note_places(elements, count, position, std::bit_cast<float>(seen.max_abs), numbers);
}

// Each kernel at each level.  The wrappers carry the target; what they call is inlined into them
// and so takes it.

#define LOCKSTEP_LEVEL(name, attribute)                                                            \
  template <class Format>                                                                          \
  attribute void float_##name(const Dtype& dtype, const std::byte* eager,                          \
                              const std::byte* compiled, std::size_t count, std::int64_t position, \
                              const Tolerance& tolerance, PairNumbers& numbers) {                  \
    float_kernel<Format>(dtype, eager, compiled, count, position, tolerance, numbers);             \
  }                                                                                                \
  template <class Int>                                                                             \
  attribute void integer_##name(const Dtype&, const std::byte* eager, const std::byte* compiled,   \
                                std::size_t count, std::int64_t position,                          \
                                const Tolerance& tolerance, PairNumbers& numbers) {                \
    integer_kernel<Int>(eager, compiled, count, position, tolerance, numbers);                     \
  }

LOCKSTEP_LEVEL(baseline, )
#if defined(__x86_64__)
#define LOCKSTEP_VECTOR_LEVELS 1
#define LOCKSTEP_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"
LOCKSTEP_LEVEL(avx2, __attribute__((target("avx2"))))
LOCKSTEP_LEVEL(avx512, __attribute__((target(LOCKSTEP_AVX512))))
#endif

template <class Format>
PairKernel float_at(VectorLevel level) {
#ifdef LOCKSTEP_VECTOR_LEVELS
  if (level == VectorLevel::avx512) return &float_avx512<Format>;
  if (level == VectorLevel::avx2) return &float_avx2<Format>;
#endif
  static_cast<void>(level);
  return &float_baseline<Format>;
}

template <class Int>
PairKernel integer_at(VectorLevel level) {
#ifdef LOCKSTEP_VECTOR_LEVELS
  if (level == VectorLevel::avx512) return &integer_avx512<Int>;
  if (level == VectorLevel::avx2) return &integer_avx2<Int>;
#endif
  static_cast<void>(level);
  return &integer_baseline<Int>;
}

template <class Signed>
PairKernel integer_of(bool is_signed, VectorLevel level) {
  return is_signed ? integer_at<Signed>(level) : integer_at<std::make_unsigned_t<Signed>>(level);
}

}  // namespace

std::span<const VectorLevel> vector_levels() {
  static constexpr std::array all = {VectorLevel::baseline, VectorLevel::avx2, VectorLevel::avx512};
  static const std::size_t available = [] {
#ifdef LOCKSTEP_VECTOR_LEVELS
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2")) return 1;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return wide ? 3 : 2;
#else
    return 1;
#endif
  }();
  return std::span(all).first(available);
}

PairKernel pair_kernel(const Dtype& dtype, VectorLevel level) {
  if (dtype.is_complex()) return &complex_kernel;
  if (dtype.is_floating()) {
    if (dtype.bytes == 8) return float_at<Float64>(level);
    if (dtype.bytes == 4) return float_at<Float32>(level);
    if (dtype.bytes == 1) return float_at<FloatByte>(level);
    return dtype.exponent_bits == 8 ? float_at<Bfloat16>(level) : float_at<Float16>(level);
  }
  const bool is_signed = number_dtype(dtype).kind == NumberKind::signed_integer;
  switch (dtype.bytes) {
    case 1:
      return integer_of<std::int8_t>(is_signed, level);
    case 2:
      return integer_of<std::int16_t>(is_signed, level);
    case 4:
      return integer_of<std::int32_t>(is_signed, level);
    default:
      return integer_of<std::int64_t>(is_signed, level);
  }
}

}  // namespace lockstep
