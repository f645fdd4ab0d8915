#pragma once

#include <cmath>
#include <random>

#include "judge/numerics/fixtures.h"
#include "judge/numerics/kernels.h"
#include "judge/numerics/modulus.h"

// For tests only: what the judge's fast pass must find, in plain scalar code that shares nothing
// with it but dtype.h's decoding and modulus.

namespace lockstep::oracle {

__extension__ using Wide = __int128;

/// One element's numbers (two for complex ones) as doubles, exactly, integers apart.
struct Parts {
  int count = 1;
  std::uint64_t bits[2] = {};
  double value[2] = {};
};

inline Parts parts_of(const Dtype& dtype, const std::byte* element) {
  const Dtype& number = number_dtype(dtype);
  Parts parts;
  parts.count = dtype.is_complex() ? 2 : 1;
  for (int p = 0; p < parts.count; ++p) {
    std::memcpy(&parts.bits[p], element + p * number.bytes, static_cast<std::size_t>(number.bytes));
    if (number.is_floating()) parts.value[p] = decode_float(number, parts.bits[p]);
  }
  return parts;
}

/// Rounds as a tensor of the dtype would after one operation of torch: to float32, then to what is
/// narrower.
inline double rounded(const Dtype& dtype, double value) {
  if (dtype.bytes == 8) return value;
  const auto once = static_cast<float>(value);
  if (dtype.bytes == 4 || dtype.bytes == 1 || std::isinf(once)) return once;
  return decode_float(dtype, encode_float(dtype, once));
}

inline bool is_close(const Dtype& dtype, double e, double c, const Tolerance& tolerance) {
  if (e == c || (std::isnan(e) && std::isnan(c))) return true;
  const auto constant = [&](double x) { return dtype.bytes == 8 ? x : static_cast<float>(x); };
  const double scaled = rounded(dtype, constant(tolerance.rtol) * std::fabs(e));
  const double allowed = rounded(dtype, constant(tolerance.atol) + scaled);
  const double actual = rounded(dtype, std::fabs(c - e));
  return std::isfinite(e) && std::isfinite(c) && std::isfinite(actual) && actual <= allowed;
}

/// Steps from one number to the other, counted on the line of all numbers of the dtype.
inline std::uint64_t steps(const Dtype& dtype, std::uint64_t a, std::uint64_t b) {
  if (dtype.mantissa_bits == 0) return a > b ? a - b : b - a;
  const std::uint64_t sign = std::uint64_t{1} << (8 * dtype.bytes - 1);
  const std::uint64_t x = a & (sign - 1);
  const std::uint64_t y = b & (sign - 1);
  return (a & sign) == (b & sign) ? (x > y ? x - y : y - x) : x + y;
}

/// In which way the parts of two elements differ: the first that fits, of the worst part; and the
/// place in the histogram for a distance.
inline void add_class(const Dtype& number, const Parts& e, const Parts& c, std::uint64_t ulp,
                      PairNumbers& out) {
  const double normal = number.mantissa_bits == 0 ? 0 : std::ldexp(1.0, 1 - number.bias);
  std::size_t worst = 9;
  for (int p = 0; p < e.count; ++p) {
    const double x = e.value[p];
    const double y = c.value[p];
    if (e.bits[p] == c.bits[p] || (std::isnan(x) && std::isnan(y))) continue;
    std::size_t found = 8;
    if (std::isnan(x) || std::isnan(y)) {
      found = std::isnan(x) ? 0 : 1;
    } else if (std::isinf(x) || std::isinf(y)) {
      found = std::isinf(x) && std::isinf(y) ? 4 : std::isinf(x) ? 2 : 3;
    } else if (x == y) {
      found = 5;
    } else if (std::fabs(x) < normal && std::fabs(y) < normal) {
      found = 6;
    } else if (steps(number, e.bits[p], c.bits[p]) <= 4) {
      found = 7;
    }
    worst = std::min(worst, found);
  }
  if (worst < 9) ++out.classes[worst];
  std::size_t place = 0;
  while (place < 64 && ulp > std::uint64_t{1} << place) ++place;
  if (ulp > 0) ++out.ulps[place];
}

/// Adds one pair of elements of a floating or complex dtype.
inline void add_float(const Dtype& dtype, const Parts& e, const Parts& c, std::int64_t at,
                      const Tolerance& tolerance, PairNumbers& out) {
  const Dtype& number = number_dtype(dtype);
  bool payload = false, differs = false, unequal = false, special = false, zero = true;
  bool nan_e = false, nan_c = false;
  std::uint64_t ulp = 0;
  for (int p = 0; p < e.count; ++p) {
    const double x = e.value[p];
    const double y = c.value[p];
    const bool both_nan = std::isnan(x) && std::isnan(y);
    payload |= e.bits[p] != c.bits[p];
    differs |= e.bits[p] != c.bits[p] && !both_nan;
    unequal |= !(x == y) && !both_nan;
    const auto kind = [](double v) {
      return std::isnan(v) ? 3 : std::isinf(v) ? (v > 0 ? 1 : 2) : 0;
    };
    special |= kind(x) != kind(y);
    zero &= x == 0 && y == 0;
    nan_e |= std::isnan(x);
    nan_c |= std::isnan(y);
    if (std::isfinite(x) && std::isfinite(y))
      ulp = std::max(ulp, steps(number, e.bits[p], c.bits[p]));
  }
  double error = std::fabs(c.value[0] - e.value[0]);
  double magnitude = std::fabs(e.value[0]);
  bool close = false;
  if (e.count == 2) {
    error = modulus(c.value[0] - e.value[0], c.value[1] - e.value[1]);
    magnitude = modulus(e.value[0], e.value[1]);
    close =
        !unequal || (std::isfinite(error) && error <= tolerance.atol + tolerance.rtol * magnitude);
  } else {
    if (number.bytes < 8) error = static_cast<float>(error);
    close = is_close(number, e.value[0], c.value[0], tolerance);
  }
  const auto note = [&](bool is_it, std::int64_t& count, std::int64_t& first) {
    count += is_it;
    if (is_it && first < 0) first = at;
  };
  add_class(number, e, c, ulp, out);
  std::int64_t nowhere = 0;
  note(payload, out.payload_differing, out.first_payload);
  note(differs, out.differing, out.first_differing);
  note(unequal, out.unequal, nowhere);
  note(special, out.nonfinite, out.first_nonfinite);
  note(!close, out.not_close, out.first_not_close);
  out.all_zero &= zero;
  out.all_nan &= nan_e && nan_c;
  if (ulp > out.max_ulp) {
    out.max_ulp = ulp;
    out.max_ulp_at = at;
  }
  if (special || nan_e || nan_c || !std::isfinite(magnitude)) return;
  if (error > out.max_abs) {
    out.max_abs = error;
    out.max_abs_at = at;
  }
  if (magnitude > 0) {
    const double relative = error / magnitude;
    out.max_rel = std::max(out.max_rel, number.bytes < 8 && e.count == 1
                                            ? static_cast<double>(static_cast<float>(relative))
                                            : relative);
  }
}

/// Adds one pair of integers (bools are their bytes).
inline void add_integer(const Dtype& dtype, std::uint64_t e, std::uint64_t c, std::int64_t at,
                        const Tolerance& tolerance, PairNumbers& out) {
  const Dtype& number = number_dtype(dtype);
  const int unused = 64 - 8 * number.bytes;
  const bool is_signed = number.kind == NumberKind::signed_integer;
  const auto wide = [&](std::uint64_t bits) -> Wide {
    return is_signed ? static_cast<Wide>(static_cast<std::int64_t>(bits << unused) >> unused)
                     : static_cast<Wide>(bits);
  };
  const Wide x = wide(e);
  const Wide y = wide(c);
  const auto apart = static_cast<std::uint64_t>(x > y ? x - y : y - x);
  out.all_nan = false;
  out.all_zero &= e == 0 && c == 0;
  const double magnitude = std::fabs(static_cast<double>(x));
  const auto error = static_cast<double>(apart);
  const bool far = !(error <= tolerance.atol + tolerance.rtol * magnitude);
  out.not_close += far;
  if (far && out.first_not_close < 0) out.first_not_close = at;
  if (apart == 0) return;
  ++out.payload_differing, ++out.differing, ++out.unequal;
  if (out.first_differing < 0) out.first_differing = out.first_payload = at;
  if (apart > out.max_ulp) {
    out.max_ulp = apart;
    out.max_abs = error;
    out.max_ulp_at = out.max_abs_at = at;
  }
  if (magnitude > 0) out.max_rel = std::max(out.max_rel, error / magnitude);
}

/// The numbers of two blocks of elements that lie side by side.
inline PairNumbers compare(const Dtype& dtype, const std::byte* e, const std::byte* c,
                           std::int64_t count, const Tolerance& tolerance) {
  PairNumbers out;
  for (std::int64_t i = 0; i < count; ++i) {
    const Parts x = parts_of(dtype, e + i * dtype.bytes);
    const Parts y = parts_of(dtype, c + i * dtype.bytes);
    if (number_dtype(dtype).is_floating()) {
      add_float(dtype, x, y, i, tolerance, out);
    } else {
      add_integer(dtype, x.bits[0], y.bits[0], i, tolerance, out);
    }
  }
  return out;
}

/// Fills one element of each side with a pair of numbers that is worth a test: equal, neighbours,
/// opposite zeros, specials, anything.
class PairGenerator {
 public:
  explicit PairGenerator(std::uint64_t seed) : random_(seed) {}

  void fill(const Dtype& dtype, std::byte* e, std::byte* c) {
    const Dtype& number = number_dtype(dtype);
    for (int offset = 0; offset < dtype.bytes; offset += number.bytes) {
      const std::uint64_t mask =
          number.bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * number.bytes) - 1;
      std::uint64_t x = random_() & mask;
      if (number.is_floating() && random_() % 2 == 0) x = near_one(number);
      if (number.is_floating() && random_() % 16 == 0) x = special(number);
      std::uint64_t y = x;
      switch (random_() % 8) {
        case 0:
          y = random_() & mask;
          break;
        case 1:
          y = (x + random_() % 5 - 2) & mask;
          break;
        case 2:
          y = x ^ (std::uint64_t{1} << random_() % static_cast<unsigned>(8 * number.bytes));
          break;
        case 3:
          if (number.is_floating()) y = special(number);
          break;
        case 4:
          if (number.is_floating()) y = nudged(number, x);
          break;
        default:
          break;
      }
      std::memcpy(e + offset, &x, static_cast<std::size_t>(number.bytes));
      std::memcpy(c + offset, &y, static_cast<std::size_t>(number.bytes));
    }
  }

  std::uint64_t operator()() { return random_(); }

 private:
  std::uint64_t near_one(const Dtype& dtype) {
    const double value = std::ldexp(static_cast<double>(random_() >> 11), -53) * 4 - 2;
    return encode_float(dtype, value);
  }
  /// About as far as the tolerances allow.
  std::uint64_t nudged(const Dtype& dtype, std::uint64_t bits) {
    const double value = decode_float(dtype, bits);
    const double by = std::ldexp(static_cast<double>(random_() >> 11), -53) * 2 - 1;
    constexpr double scales[] = {1e-7, 1.3e-6, 1e-3, 1.6e-2};
    return encode_float(dtype, value + by * (1.1 * scales[random_() % 4] * value + 1e-5));
  }
  std::uint64_t special(const Dtype& dtype) {
    const std::uint64_t sign = std::uint64_t{1} << (8 * dtype.bytes - 1);
    const std::uint64_t infinity = encode_float(dtype, INFINITY);
    const std::uint64_t all[] = {0,
                                 sign,
                                 infinity,
                                 infinity | sign,
                                 infinity - 1,
                                 infinity + 1,
                                 sign - 1,
                                 1,
                                 sign | 1,
                                 encode_float(dtype, NAN),
                                 infinity | sign | 1,
                                 encode_float(dtype, 1.0)};
    return all[random_() % std::size(all)];
  }

  std::mt19937_64 random_;
};

}  // namespace lockstep::oracle
