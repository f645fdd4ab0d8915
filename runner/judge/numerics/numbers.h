#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/dtype.h"

namespace lockstep {

/// One element's bits, right-aligned; `bytes` is 1, 2, 4 or 8.
std::uint64_t load_bits(const std::byte* element, int bytes);

/// Whether an element of a floating dtype is a NaN / an infinity.
bool is_nan(const Dtype& dtype, std::uint64_t bits);
bool is_infinity(const Dtype& dtype, std::uint64_t bits);

/// Maps the elements of a floating dtype, NaNs apart, to integers in the same order and without
/// gaps: the magnitude's bits, negated for negative numbers.  Both zeros map to 0; infinity follows
/// the greatest finite number. Source: B. Dawson, "Comparing Floating Point Numbers, 2012 Edition",
/// for any width and without the gap at zero that makes -0 and +0 2^31 steps apart.
std::int64_t ordered(const Dtype& dtype, std::uint64_t bits);

/// Units in the last place from one to the other: |ordered(a) - ordered(b)|.
std::uint64_t ulp_distance(const Dtype& dtype, std::uint64_t a, std::uint64_t b);

/// Whether two elements have the same bits, apart from the payloads of NaNs.
bool same_element(const Dtype& dtype, const std::byte* a, const std::byte* b);

/// A number rounded to three decimal digits, for what people look at in a log that is long.
double three_digits(double value);

/// Half the distance from 1 to the next number: 2^-(mantissa_bits + 1).
double unit_roundoff(const Dtype& dtype);

/// The dtype of the numbers that an element consists of: that of the parts of a complex one, the
/// integers of a quantized one, otherwise itself.
const Dtype& number_dtype(const Dtype& dtype);

/// The element exactly: the shortest decimal that reads back as the same element; "nan", "-inf",
/// "-0.0", "True"; a bool whose byte is neither 0 nor 1 as "True (byte 0x02)".
std::string format_element(const Dtype& dtype, const std::byte* element);

/// Its bits: "0x7fc00001"; the two parts of a complex one apart.
std::string format_bits(const Dtype& dtype, const std::byte* element);

}  // namespace lockstep
