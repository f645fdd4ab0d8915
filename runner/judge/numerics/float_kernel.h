#pragma once

// The loops of the hot pass over floating dtypes; included by kernels.cpp alone, which compiles
// them once for each level.
//
// They have no branches and sit on blocks in the first-level cache, so that the compiler turns them
// into vector code. Sums and maxima are of integers (the bits of floats that are not negative are
// in their order): no licence to reorder floating-point arithmetic is needed.  Three stages, each
// only where the one before it leaves something to find out:
//   scan     elements as integers: how many differ, how many ulp, how large
//   measure  finite blocks as floats: |Δ|, tolerance, relative error; left out where the ulp bound
//   what they can find general  blocks with NaN or infinity

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "judge/numerics/kernels.h"
#include "judge/numerics/numbers.h"
#include "judge/numerics/walk.h"

#define LOCKSTEP_INLINE inline __attribute__((always_inline))

namespace lockstep::kernels {

inline constexpr auto kBlock = static_cast<std::size_t>(TensorWalk::kBlock);

template <class Bits>
inline constexpr Bits kMagnitude = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);

template <class T>
LOCKSTEP_INLINE T load(const std::byte* from, std::size_t i) {
  T value;
  std::memcpy(&value, from + i * sizeof value, sizeof value);
  return value;
}

/// `condition ? yes : no` as arithmetic: where the compiler makes a branch of the operator, there
/// is no vector code.
LOCKSTEP_INLINE std::uint32_t select(bool condition, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0 - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

// How torch rounds an intermediate of torch.isclose to the dtype of the tensors: it computes in
// float32 and rounds after every operation.  `x` is not negative and no NaN.

struct RoundNone {
  template <class Float>
  LOCKSTEP_INLINE static Float round(Float x) {
    return x;
  }
};

struct RoundBfloat16 {
  LOCKSTEP_INLINE static float round(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits + 0x7fffu + ((bits >> 16) & 1)) & 0xffff0000u);
  }
};

struct RoundFloat16 {
  LOCKSTEP_INLINE static float round(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t normal = (bits + 0xfffu + ((bits >> 13) & 1)) & 0xffffe000u;
    // Adding 0.5 leaves units of 2^-24, the smallest subnormal.
    const auto subnormal = std::bit_cast<std::uint32_t>((x + 0.5f) - 0.5f);
    const std::uint32_t finite = select(bits < kSmallestNormal, subnormal, normal);
    return std::bit_cast<float>(select(finite > kGreatest, kInfinite, finite));
  }

 private:
  static constexpr std::uint32_t kSmallestNormal = std::bit_cast<std::uint32_t>(0x1p-14f);
  static constexpr std::uint32_t kGreatest = std::bit_cast<std::uint32_t>(65504.0f);
  static constexpr std::uint32_t kInfinite =
      std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity());
};

// A format says how the elements of a dtype become floats.  `Raw` has an element's bits, `Float` is
// what is computed in.

template <class RawBits, class FloatType, int mantissa, int smallest>
struct IeeeFormat {
  using Raw = RawBits;
  using Float = FloatType;
  using Bits = std::conditional_t<sizeof(Float) == 8, std::uint64_t, std::uint32_t>;
  static constexpr int kMantissa = mantissa;
  static constexpr int kSmallest = smallest;  ///< exponent of the smallest normal number
  static constexpr Raw kInfinity =
      static_cast<Raw>(static_cast<Raw>(kMagnitude<Raw> >> mantissa) << mantissa);
};

struct Float32 : IeeeFormat<std::uint32_t, float, 23, -126> {
  using Rounding = RoundNone;
  LOCKSTEP_INLINE static Bits widen(Raw raw) { return raw; }
};

struct Float64 : IeeeFormat<std::uint64_t, double, 52, -1022> {
  using Rounding = RoundNone;
  LOCKSTEP_INLINE static Bits widen(Raw raw) { return raw; }
};

struct Bfloat16 : IeeeFormat<std::uint16_t, float, 7, -126> {
  using Rounding = RoundBfloat16;
  LOCKSTEP_INLINE static Bits widen(Raw raw) { return static_cast<Bits>(raw) << 16; }
};

struct Float16 : IeeeFormat<std::uint16_t, float, 10, -14> {
  using Rounding = RoundFloat16;
  LOCKSTEP_INLINE static Bits widen(Raw raw) {
    const Bits magnitude = raw & 0x7fffu;
    const Bits rebias = 112u << 23;
    const Bits normal = (magnitude << 13) + rebias;
    // Not by multiplying the shifted bits: they would be a subnormal float32, which costs some
    // processors dearly.
    const auto subnormal =
        std::bit_cast<Bits>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
    const Bits finite = select(magnitude < 0x400u, subnormal, normal);
    const Bits bits = select(magnitude >= 0x7c00u, normal + rebias, finite);
    return bits | (static_cast<Bits>(raw & 0x8000u) << 16);
  }
};

/// What the integers of a block tell.
template <class Raw>
struct Scan {
  Raw payload = 0;  ///< elements with other bits
  Raw unequal = 0;  ///< elements at least one ulp apart
  Raw max_ulp = 0;
  Raw largest = 0;  ///< greatest magnitude of both sides, as bits
  Raw smallest =
      0;  ///< least magnitude of eager that is not 0, as bits, less 1; all ones if there is none
};

template <class Raw>
LOCKSTEP_INLINE Scan<Raw> scan(const std::byte* eager, const std::byte* compiled,
                               std::size_t count) {
  using Signed = std::make_signed_t<Raw>;
  constexpr int sign_at = 8 * sizeof(Raw) - 1;
  Raw payload = 0, unequal = 0, max_ulp = 0, largest = 0, smallest = static_cast<Raw>(~Raw{0});
  for (std::size_t i = 0; i < count; ++i) {
    const Raw re = load<Raw>(eager, i);
    const Raw rc = load<Raw>(compiled, i);
    const Raw me = static_cast<Raw>(re & kMagnitude<Raw>);
    const Raw mc = static_cast<Raw>(rc & kMagnitude<Raw>);
    const Signed se = static_cast<Signed>(static_cast<Signed>(re) >> sign_at);
    const Signed sc = static_cast<Signed>(static_cast<Signed>(rc) >> sign_at);
    // Two's complement of the magnitude where the sign is set: numbers.h's `ordered`.
    const Signed oe = static_cast<Signed>(static_cast<Signed>(me ^ static_cast<Raw>(se)) - se);
    const Signed oc = static_cast<Signed>(static_cast<Signed>(mc ^ static_cast<Raw>(sc)) - sc);
    const Signed high = oe > oc ? oe : oc;
    const Signed low = oe > oc ? oc : oe;
    const Raw apart = static_cast<Raw>(static_cast<Raw>(high) - static_cast<Raw>(low));
    payload = static_cast<Raw>(payload + static_cast<Raw>(re != rc));
    unequal = static_cast<Raw>(unequal + static_cast<Raw>(apart != 0));
    max_ulp = apart > max_ulp ? apart : max_ulp;
    const Raw larger = me > mc ? me : mc;
    largest = larger > largest ? larger : largest;
    const Raw below = static_cast<Raw>(me - 1);
    smallest = below < smallest ? below : smallest;
  }
  return {payload, unequal, max_ulp, largest, smallest};
}

/// The bits of the float that an element is.
template <class Format>
LOCKSTEP_INLINE typename Format::Bits widened(const std::byte* block, std::size_t i) {
  return Format::widen(load<typename Format::Raw>(block, i));
}

/// What the floats of a block tell; the maxima are bits.
template <class Bits>
struct Measure {
  Bits not_close = 0;
  Bits above = 0;  ///< elements whose relative error may exceed the greatest so far
  std::make_signed_t<Bits> max_abs = 0;
};

/// A block without NaN and infinity.  torch.isclose: isfinite(actual) and actual <= atol + abs(rtol
/// * other), where an infinite `actual` is larger than what is allowed anyway, and where equal
/// numbers pass because `allowed` is not negative.
template <class Format, class Float = typename Format::Float, class Bits = typename Format::Bits>
LOCKSTEP_INLINE Measure<Bits> measure(const std::byte* eager, const std::byte* compiled,
                                      std::size_t count, Float rtol, Float atol, Float relative) {
  using Signed = std::make_signed_t<Bits>;
  using Rounding = typename Format::Rounding;
  Bits not_close = 0, above = 0;
  Signed max_abs = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Bits be = widened<Format>(eager, i);
    const auto magnitude = std::bit_cast<Float>(be & kMagnitude<Bits>);
    const Float delta =
        std::bit_cast<Float>(widened<Format>(compiled, i)) - std::bit_cast<Float>(be);
    const Bits bits = std::bit_cast<Bits>(delta) & kMagnitude<Bits>;
    const auto error = std::bit_cast<Float>(bits);
    max_abs = static_cast<Signed>(bits) > max_abs ? static_cast<Signed>(bits) : max_abs;
    const Float allowed = Rounding::round(atol + Rounding::round(rtol * magnitude));
    not_close += static_cast<Bits>(Rounding::round(error) > allowed ? 1 : 0);
    above += static_cast<Bits>(error > relative * magnitude ? 1 : 0);
  }
  return {not_close, above, max_abs};
}

/// Greatest error / |e| of a block where e is not 0, as bits; both finite.
template <class Format, class Float = typename Format::Float, class Bits = typename Format::Bits>
LOCKSTEP_INLINE std::make_signed_t<Bits> greatest_relative(const std::byte* eager,
                                                           const std::byte* compiled,
                                                           std::size_t count) {
  using Signed = std::make_signed_t<Bits>;
  constexpr Bits infinity = std::bit_cast<Bits>(std::numeric_limits<Float>::infinity());
  Signed greatest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Bits be = widened<Format>(eager, i);
    const Bits bc = widened<Format>(compiled, i);
    const Bits me = be & kMagnitude<Bits>;
    const Bits mc = bc & kMagnitude<Bits>;
    const Float delta = std::bit_cast<Float>(bc) - std::bit_cast<Float>(be);
    const Float quotient = delta / std::bit_cast<Float>(me);
    const Bits larger = me > mc ? me : mc;
    Bits bits = std::bit_cast<Bits>(quotient) & kMagnitude<Bits>;
    bits = larger < infinity ? bits : 0;
    bits = me != 0 ? bits : 0;
    greatest = static_cast<Signed>(bits) > greatest ? static_cast<Signed>(bits) : greatest;
  }
  return greatest;
}

/// What a block with NaN or infinity tells.
template <class Bits>
struct General {
  Bits differing = 0, unequal = 0, nonfinite = 0, not_close = 0;
  std::make_signed_t<Bits> max_abs = 0;
};

template <class Format, class Float = typename Format::Float, class Bits = typename Format::Bits>
LOCKSTEP_INLINE General<Bits> general(const std::byte* eager, const std::byte* compiled,
                                      std::size_t count, Float rtol, Float atol) {
  using Signed = std::make_signed_t<Bits>;
  using Rounding = typename Format::Rounding;
  constexpr Bits infinity = std::bit_cast<Bits>(std::numeric_limits<Float>::infinity());
  Bits differing = 0, unequal = 0, nonfinite = 0, close = 0;
  Signed max_abs = 0;
  for (std::size_t i = 0; i < count; ++i) {
    // Ones and zeros of the elements' width in place of bools: what the vector code has.
    const Bits be = widened<Format>(eager, i);
    const Bits bc = widened<Format>(compiled, i);
    const Bits me = be & kMagnitude<Bits>;
    const Bits mc = bc & kMagnitude<Bits>;
    const Bits larger = me > mc ? me : mc;
    const Bits smaller = me > mc ? mc : me;
    const Bits other = be != bc ? 1 : 0;
    const Bits finite = larger < infinity ? 1 : 0;
    const Bits both_nan = smaller > infinity ? 1 : 0;
    const Bits not_zero = larger != 0 ? 1 : 0;
    const Bits differs = other & (both_nan ^ 1);
    const Bits apart = differs & not_zero;
    differing += differs;
    unequal += apart;
    nonfinite += differs & (finite ^ 1);
    const auto magnitude = std::bit_cast<Float>(finite != 0 ? me : 0);
    const Float delta = std::bit_cast<Float>(bc) - std::bit_cast<Float>(be);
    const Bits bits = finite != 0 ? std::bit_cast<Bits>(delta) & kMagnitude<Bits> : 0;
    max_abs = static_cast<Signed>(bits) > max_abs ? static_cast<Signed>(bits) : max_abs;
    const Float allowed = Rounding::round(atol + Rounding::round(rtol * magnitude));
    const Bits within = Rounding::round(std::bit_cast<Float>(bits)) <= allowed ? 1 : 0;
    close += (apart ^ 1) | (within & finite);
  }
  return {differing, unequal, nonfinite, static_cast<Bits>(count - close), max_abs};
}

}  // namespace lockstep::kernels
