#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lockstep {

/// What the bytes of one element mean.
enum class NumberKind {
  boolean,
  signed_integer,
  unsigned_integer,
  floating,
  complex,
  quantized,
  opaque
};

/// One of torch's scalar types, by the name that Python gives it ("float16", "float8_e4m3fn").  The
/// table in dtype.cpp is the only place that knows them; a `const Dtype*` into it identifies a
/// type.
struct Dtype {
  std::string_view name;
  /// Size of one element.
  int bytes;
  NumberKind kind;
  /// Floating types (and the parts of complex ones): widths of the fields and the bias of the
  /// exponent.
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  /// False for float8_e4m3fn, the *fnuz types and float8_e8m0fnu.
  bool has_infinity = false;
  /// False for float8_e8m0fnu and the *fnuz types, which have one zero.
  bool has_negative_zero = false;
  /// Complex types: the dtype of the parts; quantized types: the integer type stored.  Empty
  /// otherwise.
  std::string_view part = {};

  bool is_floating() const { return kind == NumberKind::floating; }
  bool is_complex() const { return kind == NumberKind::complex; }
  bool is_integer() const {
    return kind == NumberKind::signed_integer || kind == NumberKind::unsigned_integer;
  }
};

/// Every dtype that Lockstep knows, in torch's order.
std::span<const Dtype> all_dtypes();

/// The dtype of that name, or nullptr.
const Dtype* find_dtype(std::string_view name);

/// Value of an element of a floating dtype of at most 64 bits.  `bits` is right-aligned; every such
/// value is exact in a double.
double decode_float(const Dtype& dtype, std::uint64_t bits);

/// Value of an element of a signed integer dtype.  `bits` is right-aligned; what is above it does
/// not count.
std::int64_t decode_signed(const Dtype& dtype, std::uint64_t bits);

/// Nearest element (ties to even) of a floating dtype for `value`, as right-aligned bits.  Overflow
/// gives infinity, or NaN in a dtype without infinities (which is what torch's own casts give); a
/// NaN gives the dtype's default quiet NaN with the sign kept where it has one.
std::uint64_t encode_float(const Dtype& dtype, double value);

/// Exponents of the smallest normal and of the greatest finite number of a floating dtype.
int smallest_exponent(const Dtype& dtype);
int greatest_exponent(const Dtype& dtype);

/// Distance from |value| to the next greater number of the dtype (in a subnormal or 0: the smallest
/// subnormal).
double ulp_at(const Dtype& dtype, double value);

}  // namespace lockstep
