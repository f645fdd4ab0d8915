#include "judge/numerics/numbers.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lockstep {
namespace {

std::uint64_t sign_of(const Dtype& dtype) {
  return std::uint64_t{1} << (dtype.exponent_bits + dtype.mantissa_bits);
}

std::string format_float(const Dtype& dtype, std::uint64_t bits) {
  const double value = decode_float(dtype, bits);
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text;
  if (dtype.exponent_bits == 11) {
    text = fmt::format("{}", value);
  } else if (dtype.mantissa_bits == 23) {
    text = fmt::format("{}", static_cast<float>(value));
  } else {
    // No printer knows the narrow formats: the first precision that reads back as the same element.
    // Nine digits suffice for the widest of them.
    for (int digits = 1; digits <= 9; ++digits) {
      text = fmt::format("{:.{}g}", value, digits);
      if (encode_float(dtype, std::strtod(text.c_str(), nullptr)) == bits) break;
    }
  }
  // A float looks like one: "3.0", not "3".
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string format_integer(const Dtype& dtype, std::uint64_t bits) {
  if (dtype.kind == NumberKind::unsigned_integer) return fmt::format("{}", bits);
  return fmt::format("{}", decode_signed(dtype, bits));
}

}  // namespace

std::uint64_t load_bits(const std::byte* element, int bytes) {
  switch (bytes) {
    case 1:
      return static_cast<std::uint64_t>(*element);
    case 2: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, element, sizeof bits);
      return bits;
    }
    case 4: {
      std::uint32_t bits = 0;
      std::memcpy(&bits, element, sizeof bits);
      return bits;
    }
    default: {
      std::uint64_t bits = 0;
      std::memcpy(&bits, element, sizeof bits);
      return bits;
    }
  }
}

bool is_nan(const Dtype& dtype, std::uint64_t bits) {
  if (dtype.mantissa_bits == 0) return bits == 0xff;            // e8m0fnu
  if (!dtype.has_negative_zero) return bits == sign_of(dtype);  // *fnuz
  const std::uint64_t magnitude = bits & (sign_of(dtype) - 1);
  if (!dtype.has_infinity) return magnitude == sign_of(dtype) - 1;  // e4m3fn
  return magnitude > ((std::uint64_t{1} << dtype.exponent_bits) - 1) << dtype.mantissa_bits;
}

bool is_infinity(const Dtype& dtype, std::uint64_t bits) {
  return dtype.has_infinity &&
         (bits & (sign_of(dtype) - 1)) == ((std::uint64_t{1} << dtype.exponent_bits) - 1)
                                              << dtype.mantissa_bits;
}

std::int64_t ordered(const Dtype& dtype, std::uint64_t bits) {
  if (dtype.mantissa_bits == 0) return static_cast<std::int64_t>(bits);  // e8m0fnu has no sign
  const auto magnitude = static_cast<std::int64_t>(bits & (sign_of(dtype) - 1));
  return (bits & sign_of(dtype)) != 0 ? -magnitude : magnitude;
}

std::uint64_t ulp_distance(const Dtype& dtype, std::uint64_t a, std::uint64_t b) {
  const std::int64_t x = ordered(dtype, a);
  const std::int64_t y = ordered(dtype, b);
  const auto from = static_cast<std::uint64_t>(std::min(x, y));
  return static_cast<std::uint64_t>(std::max(x, y)) - from;
}

bool same_element(const Dtype& dtype, const std::byte* a, const std::byte* b) {
  const Dtype& number = number_dtype(dtype);
  for (int at = 0; at < dtype.bytes; at += number.bytes) {
    const std::uint64_t x = load_bits(a + at, number.bytes);
    const std::uint64_t y = load_bits(b + at, number.bytes);
    if (x != y && !(number.is_floating() && is_nan(number, x) && is_nan(number, y))) return false;
  }
  return true;
}

double three_digits(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return std::strtod(text.data(), nullptr);
}

double unit_roundoff(const Dtype& dtype) { return std::ldexp(1.0, -dtype.mantissa_bits - 1); }

const Dtype& number_dtype(const Dtype& dtype) {
  return dtype.part.empty() ? dtype : *find_dtype(dtype.part);
}

std::string format_element(const Dtype& dtype, const std::byte* element) {
  switch (dtype.kind) {
    case NumberKind::boolean: {
      const std::uint64_t bits = load_bits(element, 1);
      if (bits > 1) return fmt::format("True (byte {:#04x})", bits);
      return bits == 1 ? "True" : "False";
    }
    case NumberKind::signed_integer:
    case NumberKind::unsigned_integer:
      return format_integer(dtype, load_bits(element, dtype.bytes));
    case NumberKind::floating:
      return format_float(dtype, load_bits(element, dtype.bytes));
    case NumberKind::complex: {
      const Dtype& part = number_dtype(dtype);
      const std::string imaginary = format_element(part, element + part.bytes);
      return fmt::format("({}{}{}j)", format_element(part, element),
                         imaginary.starts_with('-') ? "" : "+", imaginary);
    }
    case NumberKind::quantized:
      return format_element(number_dtype(dtype), element);
    case NumberKind::opaque:
      break;
  }
  return format_bits(dtype, element);
}

std::string format_bits(const Dtype& dtype, const std::byte* element) {
  if (dtype.is_complex()) {
    const Dtype& part = number_dtype(dtype);
    return fmt::format("{}, {}", format_bits(part, element),
                       format_bits(part, element + part.bytes));
  }
  return fmt::format("{:#0{}x}", load_bits(element, dtype.bytes), 2 + 2 * dtype.bytes);
}

}  // namespace lockstep
