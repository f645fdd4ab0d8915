#include "base/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace lockstep {
namespace {

using enum NumberKind;

// Names and order: c10/core/ScalarType.h.  Formats of the 8-bit floats: the OCP 8-bit floating
// point specification (e4m3fn, e5m2), the Graphcore/AMD proposal (*fnuz), the OCP microscaling
// specification (e8m0fnu).
constexpr std::array kDtypes = {
    Dtype{"uint8", 1, unsigned_integer},
    Dtype{"int8", 1, signed_integer},
    Dtype{"int16", 2, signed_integer},
    Dtype{"int32", 4, signed_integer},
    Dtype{"int64", 8, signed_integer},
    Dtype{"float16", 2, floating, 5, 10, 15, true, true},
    Dtype{"float32", 4, floating, 8, 23, 127, true, true},
    Dtype{"float64", 8, floating, 11, 52, 1023, true, true},
    Dtype{"complex32", 4, complex, 0, 0, 0, true, true, "float16"},
    Dtype{"complex64", 8, complex, 0, 0, 0, true, true, "float32"},
    Dtype{"complex128", 16, complex, 0, 0, 0, true, true, "float64"},
    Dtype{"bool", 1, boolean},
    Dtype{"qint8", 1, quantized, 0, 0, 0, false, false, "int8"},
    Dtype{"quint8", 1, quantized, 0, 0, 0, false, false, "uint8"},
    Dtype{"qint32", 4, quantized, 0, 0, 0, false, false, "int32"},
    Dtype{"bfloat16", 2, floating, 8, 7, 127, true, true},
    Dtype{"float8_e5m2", 1, floating, 5, 2, 15, true, true},
    Dtype{"float8_e4m3fn", 1, floating, 4, 3, 7, false, true},
    Dtype{"float8_e5m2fnuz", 1, floating, 5, 2, 16, false, false},
    Dtype{"float8_e4m3fnuz", 1, floating, 4, 3, 8, false, false},
    Dtype{"uint16", 2, unsigned_integer},
    Dtype{"uint32", 4, unsigned_integer},
    Dtype{"uint64", 8, unsigned_integer},
    Dtype{"float8_e8m0fnu", 1, floating, 8, 0, 127, false, false},
    Dtype{"float4_e2m1fn_x2", 1, opaque},
    Dtype{"bcomplex32", 4, complex, 0, 0, 0, true, true, "bfloat16"},
    Dtype{"bits8", 1, opaque},
    Dtype{"bits16", 2, opaque},
};

/// The exponent-only format: 2^(bits - 127), 0xff is NaN; no sign, no zero.
double decode_e8m0(std::uint64_t bits) {
  return bits == 0xff ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

std::uint64_t encode_e8m0(double value) {
  if (std::isnan(value) || std::isinf(value)) return 0xff;
  if (!(std::fabs(value) > 0)) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  const int floor_power = exponent - 1;
  // Between 2^k and 2^(k+1) the tie is at 1.5 * 2^k; the even neighbour is the one with an even
  // stored exponent.
  const double mantissa = fraction * 2;
  const bool up = mantissa > 1.5 || (mantissa == 1.5 && ((floor_power + 127) & 1) != 0);
  const int stored = floor_power + (up ? 1 : 0) + 127;
  if (stored < 0) return 0;
  return stored > 254 ? 0xff : static_cast<std::uint64_t>(stored);
}

std::uint64_t sign_bit(const Dtype& dtype) {
  return std::uint64_t{1} << (dtype.exponent_bits + dtype.mantissa_bits);
}

std::uint64_t quiet_nan(const Dtype& dtype, bool negative) {
  if (!dtype.has_negative_zero) return sign_bit(dtype);  // *fnuz: the code that would be -0
  const std::uint64_t sign = negative ? sign_bit(dtype) : 0;
  if (!dtype.has_infinity) return sign | (sign_bit(dtype) - 1);  // e4m3fn: all ones
  const std::uint64_t exponent = ((std::uint64_t{1} << dtype.exponent_bits) - 1)
                                 << dtype.mantissa_bits;
  return sign | exponent | (std::uint64_t{1} << (dtype.mantissa_bits - 1));
}

}  // namespace

std::span<const Dtype> all_dtypes() { return kDtypes; }

const Dtype* find_dtype(std::string_view name) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.name == name) return &dtype;
  }
  return nullptr;
}

double decode_float(const Dtype& dtype, std::uint64_t bits) {
  if (dtype.exponent_bits == 11) return std::bit_cast<double>(bits);
  if (dtype.exponent_bits == 8 && dtype.mantissa_bits == 23) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  if (dtype.mantissa_bits == 0) return decode_e8m0(bits);
  const bool negative = (bits & sign_bit(dtype)) != 0;
  const std::uint64_t magnitude = bits & (sign_bit(dtype) - 1);
  if (!dtype.has_negative_zero && bits == sign_bit(dtype)) return std::nan("");
  const std::uint64_t exponent = magnitude >> dtype.mantissa_bits;
  const std::uint64_t mantissa = magnitude & ((std::uint64_t{1} << dtype.mantissa_bits) - 1);
  const std::uint64_t top = (std::uint64_t{1} << dtype.exponent_bits) - 1;
  double value = 0;
  if (dtype.has_infinity && exponent == top) {
    value = mantissa == 0 ? INFINITY : std::nan("");
  } else if (dtype.has_negative_zero && !dtype.has_infinity && magnitude == sign_bit(dtype) - 1) {
    value = std::nan("");
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - dtype.bias - dtype.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa | (std::uint64_t{1} << dtype.mantissa_bits)),
                       static_cast<int>(exponent) - dtype.bias - dtype.mantissa_bits);
  }
  return negative ? -value : value;
}

std::int64_t decode_signed(const Dtype& dtype, std::uint64_t bits) {
  const int unused = 64 - 8 * dtype.bytes;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

std::uint64_t encode_float(const Dtype& dtype, double value) {
  if (dtype.exponent_bits == 11) return std::bit_cast<std::uint64_t>(value);
  if (dtype.mantissa_bits == 0) return encode_e8m0(value);
  const bool negative = std::signbit(value);
  if (std::isnan(value)) return quiet_nan(dtype, negative);
  const std::uint64_t sign = negative ? sign_bit(dtype) : 0;
  const std::uint64_t infinity =
      dtype.has_infinity
          ? sign | (((std::uint64_t{1} << dtype.exponent_bits) - 1) << dtype.mantissa_bits)
          : quiet_nan(dtype, negative);
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return infinity;
  // In units of the last place of the result the value is a multiple of one half at worst a tie;
  // nearbyint rounds to even.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int lowest = 1 - dtype.bias;  // exponent of the smallest normal number
  const int unit = std::max(exponent - 1, lowest) - dtype.mantissa_bits;
  const double units = std::nearbyint(std::ldexp(magnitude, -unit));
  auto digits = static_cast<std::uint64_t>(units);
  if (digits == 0) return dtype.has_negative_zero ? sign : 0;
  // digits = mantissa with its leading one (or a subnormal); adding it to the biased exponent field
  // below carries correctly.
  const std::uint64_t leading = std::uint64_t{1} << dtype.mantissa_bits;
  const auto field = static_cast<std::uint64_t>(unit + dtype.mantissa_bits + dtype.bias);
  const std::uint64_t bits =
      digits < leading ? digits : ((field - 1) << dtype.mantissa_bits) + digits;
  const std::uint64_t greatest = dtype.has_infinity        ? (infinity & ~sign) - 1
                                 : dtype.has_negative_zero ? sign_bit(dtype) - 2
                                                           : sign_bit(dtype) - 1;
  return bits > greatest ? infinity : sign | bits;
}

int smallest_exponent(const Dtype& dtype) {
  // The least code of the exponent is for subnormals, which an exponent-only format has not.
  return (dtype.mantissa_bits == 0 ? 0 : 1) - dtype.bias;
}

int greatest_exponent(const Dtype& dtype) {
  // The greatest code is for infinity, or for the NaN of an exponent-only format.
  const bool taken = dtype.has_infinity || dtype.mantissa_bits == 0;
  return (1 << dtype.exponent_bits) - (taken ? 2 : 1) - dtype.bias;
}

double ulp_at(const Dtype& dtype, double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int smallest = smallest_exponent(dtype);
  if (!(std::fabs(value) > 0) || !std::isfinite(value)) exponent = smallest + 1;
  return std::ldexp(1.0, std::max(exponent - 1, smallest) - dtype.mantissa_bits);
}

}  // namespace lockstep
