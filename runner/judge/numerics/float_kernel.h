// The passes over a block of a floating dtype; block.h says why there is no include guard.
//
// Sums and maxima are of integers, or maxima of floats: their order does not matter, so that all
// targets find the same.  Three passes, each only where the one before it leaves something to find:
//   scan     elements as integers: how many differ, how many ulp, how large
//   measure  as floats: |Δ|, tolerance, relative error; left out where the ulp bound what they find
//   tell     how elements differ, and how far each; left out where all are finite and 1 ulp apart

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

// A format says how the elements of a dtype become floats, and how torch rounds an intermediate of
// torch.isclose to the dtype: it computes in float32 and rounds after every operation.

template <class RawBits, class FloatType, int mantissa, int smallest>
struct IeeeFormat {
  using Raw = RawBits;
  using Float = FloatType;
  using Bits = std::conditional_t<sizeof(Float) == 8, std::uint64_t, std::uint32_t>;
  static constexpr int kMantissa = mantissa;
  static constexpr int kSmallest = smallest;  ///< exponent of the smallest normal number
  static constexpr Raw kNormal = static_cast<Raw>(Raw{1} << mantissa);  ///< that number
  static constexpr Raw kInfinity = static_cast<Raw>(kMagnitude<Raw> >> mantissa << mantissa);

  /// The bits of the floats that elements are.
  template <class D>
  HWY_INLINE static hn::Vec<D> widen(D, hn::Vec<D> raw) {
    return raw;
  }
  /// Of numbers that are not negative and no NaN.
  template <class D>
  HWY_INLINE static hn::Vec<D> round(D, hn::Vec<D> x) {
    return x;
  }
};

struct Float32 : IeeeFormat<std::uint32_t, float, 23, -126> {};
struct Float64 : IeeeFormat<std::uint64_t, double, 52, -1022> {};

struct Bfloat16 : IeeeFormat<std::uint16_t, float, 7, -126> {
  template <class D, class V>
  HWY_INLINE static hn::Vec<D> widen(D d, V raw) {
    return hn::ShiftLeft<16>(hn::PromoteTo(d, raw));
  }
  template <class D>
  HWY_INLINE static hn::Vec<D> round(D d, hn::Vec<D> x) {
    const hn::Rebind<std::uint32_t, D> du;
    const auto bits = hn::BitCast(du, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto up = hn::Add(hn::Add(bits, hn::Set(du, 0x7fff)), odd);
    return hn::BitCast(d, hn::And(up, hn::Set(du, 0xffff0000u)));
  }
};

struct Float16 : IeeeFormat<std::uint16_t, float, 10, -14> {
  template <class D, class V>
  HWY_INLINE static hn::Vec<D> widen(D d, V narrow) {
    const hn::Rebind<float, D> df;
    const hn::Rebind<std::int32_t, D> di;
    const auto raw = hn::PromoteTo(d, narrow);
    const auto magnitude = hn::And(raw, hn::Set(d, 0x7fff));
    const auto rebias = hn::Set(d, 112u << 23);
    const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), rebias);
    // Not by multiplying the shifted bits: they would be a subnormal float32, which costs some
    // processors dearly.
    const auto subnormal = hn::BitCast(
        d, hn::Mul(hn::ConvertTo(df, hn::BitCast(di, magnitude)), hn::Set(df, 0x1p-24f)));
    const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x400)), subnormal, normal);
    const auto special = hn::Gt(magnitude, hn::Set(d, 0x7bff));
    const auto bits = hn::IfThenElse(special, hn::Add(normal, rebias), finite);
    return hn::Or(bits, hn::ShiftLeft<16>(hn::And(raw, hn::Set(d, 0x8000))));
  }
  template <class D>
  HWY_INLINE static hn::Vec<D> round(D d, hn::Vec<D> x) {
    const hn::Rebind<std::uint32_t, D> du;
    const auto bits = hn::BitCast(du, x);
    const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(du, 1));
    const auto up = hn::Add(hn::Add(bits, hn::Set(du, 0xfff)), odd);
    const auto normal = hn::BitCast(d, hn::And(up, hn::Set(du, 0xffffe000u)));
    // Adding 0.5 leaves units of 2^-24, the smallest subnormal.
    const auto half = hn::Set(d, 0.5f);
    const auto subnormal = hn::Sub(hn::Add(x, half), half);
    const auto finite = hn::IfThenElse(hn::Lt(x, hn::Set(d, 0x1p-14f)), subnormal, normal);
    const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    return hn::IfThenElse(hn::Gt(finite, hn::Set(d, 65504.0f)), infinity, finite);
  }
};

/// What the integers of a pair of vectors say, for every format.
template <class D>
struct Ordered {
  using V = hn::Vec<D>;
  using Signed = hn::RebindToSigned<D>;
  hn::Vec<Signed> eager, compiled;  ///< magnitudes: signed, because those compare faster
  hn::Vec<Signed> high, low;        ///< the greater and the smaller magnitude
  V apart;                          ///< distance in ulp: see `ordered` in numbers.h

  HWY_INLINE Ordered(D d, V e, V c) {
    const Signed ds;
    const auto magnitude = hn::Set(ds, kMagnitude<hn::TFromD<Signed>>);
    eager = hn::And(hn::BitCast(ds, e), magnitude);
    compiled = hn::And(hn::BitCast(ds, c), magnitude);
    high = hn::Max(eager, compiled);
    low = hn::Min(eager, compiled);
    const auto opposite = hn::BroadcastSignBit(hn::BitCast(ds, hn::Xor(e, c)));
    // Across zero it is the sum.
    apart = hn::BitCast(d, hn::Add(hn::Sub(high, low), hn::And(hn::Add(low, low), opposite)));
  }
};

/// What the integers of a block tell.
template <class Raw>
struct Scan {
  std::size_t payload = 0;  ///< elements with other bits
  std::size_t unequal = 0;  ///< elements at least one ulp apart
  Raw max_ulp = 0;
  Raw largest = 0;  ///< greatest magnitude of both sides, as bits
  // All ones where all are 0:
  Raw least_eager = 0;  ///< least magnitude of eager that is not 0, as bits, less 1
  Raw least_high = 0;   ///< the same of the greater magnitudes
};

template <class Raw>
HWY_INLINE Scan<Raw> scan(const std::byte* eager, const std::byte* compiled, std::size_t count) {
  const hn::ScalableTag<Raw> d;
  const hn::RebindToSigned<decltype(d)> ds;
  const auto zero = hn::Zero(d);
  const auto ones = hn::Set(ds, -1);
  std::size_t payload = 0, unequal = 0;
  auto max_ulp = zero, least_eager = hn::BitCast(d, ones), least_high = hn::BitCast(d, ones);
  auto largest = hn::Zero(ds);
  for_vectors(hn::Lanes(d), sizeof(Raw), eager, compiled, count,
              [&](std::size_t, const std::byte* at_e, const std::byte* at_c) HWY_ATTR {
                const auto e = load(d, at_e), c = load(d, at_c);
                const Ordered<decltype(d)> each(d, e, c);
                payload += hn::CountTrue(d, hn::Ne(e, c));
                unequal += hn::CountTrue(d, hn::Ne(each.apart, zero));
                max_ulp = hn::Max(max_ulp, each.apart);
                largest = hn::Max(largest, each.high);
                const auto less = [&](auto x) HWY_ATTR { return hn::BitCast(d, hn::Add(x, ones)); };
                least_eager = hn::Min(least_eager, less(each.eager));
                least_high = hn::Min(least_high, less(each.high));
                return false;
              });
  return {payload,
          unequal,
          greatest(d, max_ulp),
          static_cast<Raw>(greatest(ds, largest)),
          least(d, least_eager),
          least(d, least_high)};
}

/// How the elements of a block differ; `apart` gets their distances, 0 where one is not finite.
template <class Format>
HWY_INLINE void tell(const std::byte* eager, const std::byte* compiled, std::size_t count,
                     Distances<typename Format::Raw>& apart, PairNumbers& numbers) {
  using Raw = typename Format::Raw;
  using enum DifferenceClass;
  const hn::ScalableTag<Raw> d;
  const hn::RebindToSigned<decltype(d)> ds;
  using Signed = hn::TFromD<decltype(ds)>;
  const auto infinity = hn::Set(ds, static_cast<Signed>(Format::kInfinity));
  const auto normal = hn::Set(ds, static_cast<Signed>(Format::kNormal));
  const auto few = hn::Set(d, static_cast<Raw>(kLastBits));
  std::size_t differing = 0, unequal = 0;
  std::array<std::size_t, static_cast<std::size_t>(none)> counts{};
  const auto add = [&](DifferenceClass each, auto mask) HWY_ATTR {
    counts[static_cast<std::size_t>(each)] += hn::CountTrue(ds, mask);
  };
  for_vectors(hn::Lanes(d), sizeof(Raw), eager, compiled, count,
              [&](std::size_t i, const std::byte* at_e, const std::byte* at_c) HWY_ATTR {
                const auto e = load(d, at_e), c = load(d, at_c);
                const Ordered<decltype(d)> each(d, e, c);
                const auto other = hn::Ne(hn::BitCast(ds, e), hn::BitCast(ds, c));
                const auto differs = hn::AndNot(hn::Gt(each.low, infinity), other);
                differing += hn::CountTrue(ds, differs);
                const auto special = hn::AndNot(hn::Lt(each.high, infinity), differs);
                if (!hn::AllFalse(ds, special)) {
                  const auto less = hn::Lt(each.eager, each.compiled);
                  const auto nan = hn::And(special, hn::Gt(each.high, infinity));
                  add(eager_nan, hn::AndNot(less, nan));
                  add(compiled_nan, hn::And(nan, less));
                  const auto infinite = hn::AndNot(nan, special);
                  const auto both = hn::And(infinite, hn::Eq(each.low, infinity));
                  add(infinity_sign, both);
                  add(eager_infinity, hn::AndNot(hn::Or(less, both), infinite));
                  add(compiled_infinity, hn::And(infinite, less));
                }
                const auto finite = hn::And(differs, hn::Lt(each.high, infinity));
                const auto zero = hn::Eq(each.high, hn::Zero(ds));
                const auto small = hn::Lt(each.high, normal);
                add(zero_sign, hn::And(finite, zero));
                add(subnormal, hn::And(finite, hn::AndNot(zero, small)));
                const auto apart_here = hn::IfThenElseZero(hn::RebindMask(d, finite), each.apart);
                unequal += hn::CountTrue(d, hn::Ne(apart_here, hn::Zero(d)));
                const auto last = hn::RebindMask(ds, hn::Eq(hn::Min(each.apart, few), each.apart));
                add(last_bits, hn::And(finite, hn::AndNot(small, last)));
                hn::StoreU(apart_here, d, apart.of.data() + i);
                return false;
              });
  apart.count_in(count, unequal, numbers);
  for (const std::size_t each : counts) differing -= each;
  counts[static_cast<std::size_t>(value)] = differing;
  for (std::size_t i = 0; i < counts.size(); ++i)
    numbers.classes[i] += static_cast<std::int64_t>(counts[i]);
}

/// Two vectors of elements as floats: magnitude of eager and error, both 0 where one is not finite.
template <class Format, class D>
struct Floats {
  using V = hn::Vec<D>;
  V magnitude, error;
  hn::Mask<D> finite;

  HWY_INLINE Floats(D d, const std::byte* at_e, const std::byte* at_c) {
    const hn::Rebind<typename Format::Raw, D> raw;
    const hn::RebindToUnsigned<D> bits;
    const auto e = hn::BitCast(d, Format::widen(bits, load(raw, at_e)));
    const auto c = hn::BitCast(d, Format::widen(bits, load(raw, at_c)));
    const auto infinity = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
    finite = hn::And(hn::Lt(hn::Abs(e), infinity), hn::Lt(hn::Abs(c), infinity));
    magnitude = hn::IfThenElseZero(finite, hn::Abs(e));
    error = hn::IfThenElseZero(finite, hn::Abs(hn::Sub(c, e)));
  }
};

/// What the floats of a block tell; of elements that are finite on both sides.
template <class Float>
struct Measure {
  std::size_t not_close = 0;
  std::size_t above = 0;  ///< elements whose relative error may exceed the greatest so far
  Float max_abs = 0;
};

/// Calls `visit(i, d, floats)` for the vectors of a block, in order, until it returns true.
template <class Format, class Visit>
HWY_INLINE void for_floats(const std::byte* eager, const std::byte* compiled, std::size_t count,
                           Visit&& visit) {
  const hn::ScalableTag<typename Format::Float> d;
  for_vectors(hn::Lanes(d), sizeof(typename Format::Raw), eager, compiled, count,
              [&](std::size_t i, const std::byte* e, const std::byte* c) HWY_ATTR {
                return visit(i, d,
                             Floats<Format, hn::ScalableTag<typename Format::Float>>(d, e, c));
              });
}

/// Elements that are outside of a tolerance, finite ones.  torch.isclose: isfinite(actual) and
/// actual <= atol + abs(rtol * other), where an infinite `actual` is larger than what is allowed
/// anyway, and where equal numbers pass because `allowed` is not negative.
template <class Format, class D>
HWY_INLINE hn::Mask<D> outside(D d, const Floats<Format, D>& floats, const Tolerance& tolerance) {
  using Float = hn::TFromD<D>;
  const auto rtol = hn::Set(d, static_cast<Float>(tolerance.rtol));
  const auto atol = hn::Set(d, static_cast<Float>(tolerance.atol));
  const auto scaled = Format::round(d, hn::Mul(rtol, floats.magnitude));
  const auto allowed = Format::round(d, hn::Add(atol, scaled));
  return hn::Gt(Format::round(d, floats.error), allowed);
}

template <class Format, class Float = typename Format::Float>
HWY_INLINE Measure<Float> measure(const std::byte* eager, const std::byte* compiled,
                                  std::size_t count, const Tolerance& tolerance, Float relative) {
  const hn::ScalableTag<Float> whole;
  auto max_abs = hn::Zero(whole);
  std::size_t not_close = 0, above = 0;
  for_floats<Format>(eager, compiled, count, [&](std::size_t, auto d, const auto& floats) HWY_ATTR {
    max_abs = hn::Max(max_abs, floats.error);
    not_close += hn::CountTrue(d, outside<Format>(d, floats, tolerance));
    const auto most = hn::Mul(hn::Set(d, relative), floats.magnitude);
    above += hn::CountTrue(d, hn::Gt(floats.error, most));
    return false;
  });
  return {not_close, above, greatest(whole, max_abs)};
}

/// Greatest error / |e| of a block where e is not 0; both finite.
template <class Format, class Float = typename Format::Float>
HWY_INLINE double greatest_relative(const std::byte* eager, const std::byte* compiled,
                                    std::size_t count) {
  const hn::ScalableTag<Float> whole;
  auto most = hn::Zero(whole);
  for_floats<Format>(eager, compiled, count, [&](std::size_t, auto d, const auto& floats) HWY_ATTR {
    const auto counts = hn::Gt(floats.magnitude, hn::Zero(d));
    const auto quotient = hn::Div(floats.error, floats.magnitude);
    most = hn::Max(most, hn::IfThenElseZero(counts, quotient));
    return false;
  });
  return static_cast<double>(greatest(whole, most));
}

/// Keeps `all_zero` and `all_nan` as long as they may be true.
template <class Format>
HWY_INLINE void note_vacuous(const std::byte* eager, const std::byte* compiled, std::size_t count,
                             PairNumbers& numbers) {
  using Raw = typename Format::Raw;
  const hn::ScalableTag<Raw> d;
  const hn::RebindToSigned<decltype(d)> ds;
  const auto infinity = hn::Set(ds, static_cast<hn::TFromD<decltype(ds)>>(Format::kInfinity));
  auto any = hn::Zero(ds);
  std::size_t nans = 0;
  for_vectors(hn::Lanes(d), sizeof(Raw), eager, compiled, count,
              [&](std::size_t, const std::byte* e, const std::byte* c) HWY_ATTR {
                const Ordered<decltype(d)> each(d, load(d, e), load(d, c));
                any = hn::Or(any, each.high);
                nans += hn::CountTrue(ds, hn::Gt(each.low, infinity));
                return false;
              });
  numbers.all_zero = numbers.all_zero && hn::AllTrue(ds, hn::Eq(any, hn::Zero(ds)));
  numbers.all_nan = numbers.all_nan && nans == count;
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
HWY_INLINE std::uint64_t free_ulps(const Tolerance& tolerance) {
  constexpr double step = power_of_two(-Format::kMantissa);
  const double rtol = tolerance.rtol * (1 - 2 * step) * (1 - power_of_two(-20));
  const auto free =
      static_cast<std::uint64_t>(std::min(rtol / step, power_of_two(Format::kMantissa - 1)));
  constexpr double subnormal = step * power_of_two(std::max(Format::kSmallest, -900));
  return 2 * static_cast<double>(free) * subnormal <= tolerance.atol ? free : 0;
}

/// What the ulp of a finite block say of its errors.  k steps are at most k units in the last place
/// of the largest number; relative to e see free_ulps.
struct Bounds {
  double error;
  double relative;
};

template <class Format>
HWY_INLINE Bounds bounds_of(const Scan<typename Format::Raw>& found) {
  using Raw = typename Format::Raw;
  constexpr double unit = power_of_two(-Format::kMantissa);
  const auto steps = static_cast<double>(found.max_ulp);
  const int binade = static_cast<int>(found.largest >> Format::kMantissa) + Format::kSmallest - 1;
  const double largest = power_of_two(std::max(binade, Format::kSmallest));
  const bool normal = found.least_eager >= static_cast<Raw>(Format::kNormal - 1);
  const bool bounded = normal && steps * unit <= 1;
  return {steps * unit * largest, bounded ? steps * unit : HUGE_VAL};
}

/// Of a finite block: how its elements differ.
template <class Format>
HWY_INLINE void tell_finite(const std::byte* eager, const std::byte* compiled, std::size_t count,
                            const Scan<typename Format::Raw>& found, PairNumbers& numbers) {
  if (found.max_ulp > 1 ||
      found.least_high < static_cast<typename Format::Raw>(Format::kNormal - 1)) {
    Distances<typename Format::Raw> apart;
    return tell<Format>(eager, compiled, count, apart, numbers);
  }
  const auto unequal = static_cast<std::int64_t>(found.unequal);
  numbers.of(DifferenceClass::zero_sign) += static_cast<std::int64_t>(found.payload) - unequal;
  numbers.of(DifferenceClass::last_bits) += unequal;
  numbers.ulps[0] += unequal;
}

/// Notes the places of what is new to `numbers`, whose counts are already those with the block.
template <class Format>
void note_places(const std::byte* eager, const std::byte* compiled, std::size_t count,
                 std::int64_t position, const Tolerance& tolerance, typename Format::Float max_abs,
                 PairNumbers& numbers) {
  const hn::ScalableTag<typename Format::Raw> d;
  const hn::RebindToSigned<decltype(d)> ds;
  const auto infinity = hn::Set(ds, static_cast<hn::TFromD<decltype(ds)>>(Format::kInfinity));
  const auto first_of = [&](bool special) HWY_ATTR {
    return find(d, eager, compiled, count, position, [&](auto e, auto c) HWY_ATTR {
      const Ordered<decltype(d)> each(d, e, c);
      const auto other = hn::Ne(hn::BitCast(ds, e), hn::BitCast(ds, c));
      const auto differs = hn::AndNot(hn::Gt(each.low, infinity), other);
      const auto least = special ? infinity : hn::Zero(ds);
      return hn::RebindMask(d, hn::AndNot(hn::Lt(each.high, least), differs));
    });
  };
  if (numbers.first_differing < 0 && numbers.differing > 0)
    numbers.first_differing = first_of(false);
  const bool special = numbers.first_nonfinite < 0 && numbers.nonfinite > 0;
  if (special) numbers.first_nonfinite = first_of(true);
  const auto first_float = [&](auto is_it) HWY_ATTR {
    std::int64_t found = -1;
    for_floats<Format>(eager, compiled, count,
                       [&](std::size_t i, auto df, const auto& floats) HWY_ATTR {
                         const std::intptr_t lane = hn::FindFirstTrue(df, is_it(df, floats));
                         if (lane >= 0) found = position + static_cast<std::int64_t>(i) + lane;
                         return lane >= 0;
                       });
    return found;
  };
  if (numbers.first_not_close < 0 && numbers.not_close > 0) {
    numbers.first_not_close = first_float([&](auto df, const auto& floats) HWY_ATTR {
      return outside<Format>(df, floats, tolerance);
    });
    // What is not finite on one side is not close.
    const std::int64_t other = special ? numbers.first_nonfinite : -1;
    if (numbers.first_not_close < 0 || (other >= 0 && other < numbers.first_not_close))
      numbers.first_not_close = other;
  }
  if (static_cast<double>(max_abs) > numbers.max_abs) {
    numbers.max_abs = static_cast<double>(max_abs);
    numbers.max_abs_at = first_float([&](auto df, const auto& floats) HWY_ATTR {
      return hn::Eq(floats.error, hn::Set(df, max_abs));
    });
  }
}

/// The greatest distance of a block, if it is new.
template <class Format>
void note_ulp(const std::byte* eager, const std::byte* compiled, std::size_t count,
              std::int64_t position, typename Format::Raw most, PairNumbers& numbers) {
  if (most <= numbers.max_ulp) return;
  const hn::ScalableTag<typename Format::Raw> d;
  const hn::RebindToSigned<decltype(d)> ds;
  const auto infinity = hn::Set(ds, static_cast<hn::TFromD<decltype(ds)>>(Format::kInfinity));
  numbers.max_ulp = most;
  numbers.max_ulp_at = find(d, eager, compiled, count, position, [&](auto e, auto c) HWY_ATTR {
    const Ordered<decltype(d)> each(d, e, c);
    const auto finite = hn::RebindMask(d, hn::Lt(each.high, infinity));
    return hn::And(finite, hn::Eq(each.apart, hn::Set(d, most)));
  });
}

/// A block with NaN or infinity.
template <class Format>
HWY_INLINE void special_block(const std::byte* eager, const std::byte* compiled, std::size_t count,
                              std::int64_t position, const Tolerance& tolerance,
                              PairNumbers& numbers) {
  using Raw = typename Format::Raw;
  using enum DifferenceClass;
  const auto sum = [&](DifferenceClass first, DifferenceClass last) {
    return std::accumulate(numbers.classes.begin() + static_cast<std::ptrdiff_t>(first),
                           numbers.classes.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                           std::int64_t{0});
  };
  const std::int64_t zeros = numbers.of(zero_sign);
  const std::int64_t special = sum(eager_nan, infinity_sign), all = sum(eager_nan, value);
  Distances<Raw> apart;
  tell<Format>(eager, compiled, count, apart, numbers);
  const std::int64_t differing = sum(eager_nan, value) - all;
  const std::int64_t nonfinite = sum(eager_nan, infinity_sign) - special;
  numbers.differing += differing;
  numbers.unequal += differing - (numbers.of(zero_sign) - zeros);
  numbers.nonfinite += nonfinite;
  const auto measured =
      measure<Format>(eager, compiled, count, tolerance, static_cast<typename Format::Float>(0));
  numbers.not_close += nonfinite + static_cast<std::int64_t>(measured.not_close);
  if (measured.above > 0)
    numbers.max_rel = std::max(numbers.max_rel, greatest_relative<Format>(eager, compiled, count));
  note_places<Format>(eager, compiled, count, position, tolerance, measured.max_abs, numbers);
  const Raw most =
      *std::max_element(apart.of.begin(), apart.of.begin() + static_cast<std::ptrdiff_t>(count));
  note_ulp<Format>(eager, compiled, count, position, most, numbers);
}

template <class Format>
void float_kernel(const Dtype&, const std::byte* eager, const std::byte* compiled,
                  std::size_t count, std::int64_t position, const Tolerance& tolerance,
                  PairNumbers& numbers) {
  using Raw = typename Format::Raw;
  using Float = typename Format::Float;
  if (numbers.all_zero || numbers.all_nan) note_vacuous<Format>(eager, compiled, count, numbers);
  if (std::memcmp(eager, compiled, count * sizeof(Raw)) == 0) return;
  const Scan<Raw> found = scan<Raw>(eager, compiled, count);
  numbers.payload_differing += static_cast<std::int64_t>(found.payload);
  if (numbers.first_payload < 0) {
    numbers.first_payload = find(hn::ScalableTag<Raw>(), eager, compiled, count, position,
                                 [](auto e, auto c) HWY_ATTR { return hn::Ne(e, c); });
  }
  if (found.largest >= Format::kInfinity)
    return special_block<Format>(eager, compiled, count, position, tolerance, numbers);
  numbers.differing += static_cast<std::int64_t>(found.payload);
  numbers.unequal += static_cast<std::int64_t>(found.unequal);
  tell_finite<Format>(eager, compiled, count, found, numbers);
  const Bounds most = bounds_of<Format>(found);
  Measure<Float> measured;
  const bool nothing_new = most.error <= numbers.max_abs && most.relative <= numbers.max_rel;
  if (found.unequal > 0 && !(nothing_new && found.max_ulp <= free_ulps<Format>(tolerance))) {
    // A little less than the greatest so far, because a product rounds.
    const auto relative = static_cast<Float>(numbers.max_rel * (1 - 0x1p-20));
    measured = measure<Format>(eager, compiled, count, tolerance, relative);
  }
  numbers.not_close += static_cast<std::int64_t>(measured.not_close);
  if (measured.above > 0)
    numbers.max_rel = std::max(numbers.max_rel, greatest_relative<Format>(eager, compiled, count));
  note_places<Format>(eager, compiled, count, position, tolerance, measured.max_abs, numbers);
  note_ulp<Format>(eager, compiled, count, position, found.max_ulp, numbers);
}

/// Elements as doubles, of the vectors that D has.
template <class Format, class D>
HWY_INLINE hn::Vec<D> widest(D d, const std::byte* from) {
  if constexpr (std::is_same_v<Format, Float64>) {
    return load(d, from);
  } else {
    const hn::Rebind<float, D> narrow;
    const hn::Rebind<std::uint32_t, D> bits;
    const hn::Rebind<typename Format::Raw, D> raw;
    return hn::PromoteTo(d, hn::BitCast(narrow, Format::widen(bits, load(raw, from))));
  }
}

template <class Format>
void decode(const std::byte* block, std::size_t count, double* numbers) {
  constexpr std::size_t size = sizeof(typename Format::Raw);
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(widest<Format>(d, block + i * size), d, numbers + i);
  if (i == count) return;
  std::array<std::byte, kWidest> rest{};
  std::array<double, kWidest / sizeof(double)> wide;
  std::memcpy(rest.data(), block + i * size, (count - i) * size);
  hn::StoreU(widest<Format>(d, rest.data()), d, wide.data());
  std::copy(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(count - i), numbers + i);
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
