// The passes over a block of a complex dtype; block.h says why there is no include guard.
//
// Moduli are computed in long double (modulus.h), which no vector has: vectors of doubles choose
// the few elements whose error may be news, and compare_each.cpp measures those.

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

/// What the integers of a block tell, element by element, or part by part where it says so.
template <class Raw>
struct ComplexScan {
  Scan<Raw> found;                           ///< what it says of magnitudes is of the parts
  std::size_t zero_sign = 0, last_bits = 0;  ///< elements by their classes, if nothing is special
};

template <class Format, class Raw = typename Format::Raw>
HWY_INLINE ComplexScan<Raw> scan_complex(const std::byte* eager, const std::byte* compiled,
                                         std::size_t count, Distances<Raw>& apart) {
  const hn::ScalableTag<Raw> d;
  const hn::RebindToSigned<decltype(d)> ds;
  const auto zero = hn::Zero(d);
  const auto ones = hn::Set(ds, -1);
  const auto few = hn::Set(d, static_cast<Raw>(kLastBits));
  std::size_t payload = 0, unequal = 0, zero_sign = 0, last_bits = 0;
  auto max_ulp = zero, least_eager = hn::BitCast(d, ones), least_high = hn::BitCast(d, ones);
  auto largest = hn::Zero(ds);
  for_vectors(
      hn::Lanes(d), 2 * sizeof(Raw), eager, compiled, count,
      [&](std::size_t i, const std::byte* at_e, const std::byte* at_c) HWY_ATTR {
        hn::Vec<decltype(d)> e[2], c[2];
        load_parts(d, at_e, e[0], e[1]);
        load_parts(d, at_c, c[0], c[1]);
        const Ordered<decltype(d)> real(d, e[0], c[0]), imaginary(d, e[1], c[1]);
        const auto other_real = hn::Ne(e[0], c[0]), other_imaginary = hn::Ne(e[1], c[1]);
        const auto differs = hn::Or(other_real, other_imaginary);
        const auto both = hn::Max(real.apart, imaginary.apart);
        payload += hn::CountTrue(d, differs);
        unequal += hn::CountTrue(d, hn::Ne(both, zero));
        // The sign of zero is asked before the last bits, and those before the value.
        const auto sign = hn::Or(hn::And(other_real, hn::Eq(real.apart, zero)),
                                 hn::And(other_imaginary, hn::Eq(imaginary.apart, zero)));
        const auto is_few = [&](auto ulp, auto other)
                                HWY_ATTR { return hn::And(other, hn::Eq(hn::Min(ulp, few), ulp)); };
        const auto last =
            hn::Or(is_few(real.apart, other_real), is_few(imaginary.apart, other_imaginary));
        zero_sign += hn::CountTrue(d, sign);
        last_bits += hn::CountTrue(d, hn::AndNot(sign, last));
        max_ulp = hn::Max(max_ulp, both);
        largest = hn::Max(largest, hn::Max(real.high, imaginary.high));
        const auto less = [&](auto x, auto y) HWY_ATTR {
          return hn::Min(hn::BitCast(d, hn::Add(x, ones)), hn::BitCast(d, hn::Add(y, ones)));
        };
        least_eager = hn::Min(least_eager, less(real.eager, imaginary.eager));
        least_high = hn::Min(least_high, less(real.high, imaginary.high));
        hn::StoreU(both, d, apart.of.data() + i);
        return false;
      });
  return {{payload, unequal, greatest(d, max_ulp), static_cast<Raw>(greatest(ds, largest)),
           least(d, least_eager), least(d, least_high)},
          zero_sign,
          last_bits};
}

/// Whether all is finite and normal or zero, and no further from 1 than by a factor of 2^reach.
template <class Format>
HWY_INLINE bool is_within(int reach, const Scan<typename Format::Raw>& found) {
  using Raw = typename Format::Raw;
  constexpr Raw one = static_cast<Raw>(1 - Format::kSmallest) << Format::kMantissa;
  const Raw far = std::min(one, static_cast<Raw>(reach) << Format::kMantissa);
  const Raw least = std::max<Raw>(Format::kNormal, one - far);
  return found.largest < std::min<Raw>(Format::kInfinity, one + far) &&
         std::min(found.least_eager, found.least_high) >= least - 1;
}

/// Squares of what lies within it are normal as doubles.
constexpr int kReach = 400;

#if HWY_TARGET == HWY_SCALAR
constexpr bool kPairs = false;  ///< whether a vector holds both parts of an element
template <class D, class V>
HWY_INLINE std::size_t count_other(D, V, V) {
  return 0;
}
#else
constexpr bool kPairs = true;
/// Elements with other bits; their parts lie side by side.
template <class D, class V>
HWY_INLINE std::size_t count_other(D d, V e, V c) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const hn::RepartitionToWide<D> whole;
    return hn::CountTrue(whole, hn::Ne(hn::BitCast(whole, e), hn::BitCast(whole, c)));
  } else {
    const V other = hn::VecFromMask(d, hn::Ne(e, c));
    return hn::CountTrue(d, hn::MaskFromVec(hn::Or(other, hn::Shuffle01(other)))) / 2;
  }
}
#endif

/// What scan_complex tells, in two thirds of the time, of a block whose parts are within kReach and
/// nowhere more than one ulp apart; of others nothing.
template <class Format, class Raw = typename Format::Raw>
HWY_INLINE std::optional<ComplexScan<Raw>> scan_near(const std::byte* eager,
                                                     const std::byte* compiled, std::size_t count) {
  const hn::ScalableTag<Raw> d;
  const hn::RebindToSigned<decltype(d)> ds;
  const auto ones = hn::Set(ds, -1);
  const auto magnitude = hn::Set(ds, kMagnitude<hn::TFromD<decltype(ds)>>);
  std::size_t other = 0;
  auto steps = hn::Zero(d), least_size = hn::BitCast(d, ones);
  auto largest = hn::Zero(ds);
  for_vectors(hn::Lanes(d), sizeof(Raw), eager, compiled, 2 * count,
              [&](std::size_t, const std::byte* at_e, const std::byte* at_c) HWY_ATTR {
                const auto e = load(d, at_e), c = load(d, at_c);
                other += count_other(d, e, c);
                // Of normal numbers of one sign the difference of the bits is that in ulp, and
                // others are further apart.  -1, 0 and 1 become 0, 1 and 2.
                steps = hn::Max(steps, hn::Sub(hn::Sub(c, e), hn::BitCast(d, ones)));
                const auto size_e = hn::And(hn::BitCast(ds, e), magnitude);
                const auto size_c = hn::And(hn::BitCast(ds, c), magnitude);
                largest = hn::Max(largest, hn::Max(size_e, size_c));
                least_size = hn::Min(least_size, hn::BitCast(d, hn::Add(size_e, ones)));
                least_size = hn::Min(least_size, hn::BitCast(d, hn::Add(size_c, ones)));
                return false;
              });
  if (greatest(d, steps) > 2) return std::nullopt;
  const auto most = static_cast<Raw>(greatest(ds, largest));
  const Raw low = least(d, least_size);
  const Scan<Raw> found{other, other, other > 0 ? Raw{1} : Raw{0}, most, low, low};
  if (!is_within<Format>(kReach, found)) return std::nullopt;
  return ComplexScan<Raw>{found, 0, other};
}

/// Both parts of elements as floats or doubles, which are no narrower.
template <class Format, class D, class V>
HWY_INLINE void load_numbers(D d, const std::byte* from, V& real, V& imaginary) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(typename Format::Raw)) {
    load_parts(d, from, real, imaginary);
  } else {
    const hn::RebindToUnsigned<D> whole;
    const hn::Rebind<std::uint32_t, D> half;
    const hn::Rebind<float, D> narrow;
    const auto bits = load(whole, from);
    real = hn::PromoteTo(d, hn::BitCast(narrow, hn::TruncateTo(half, bits)));
    const auto upper = hn::TruncateTo(half, hn::ShiftRight<32>(bits));
    imaginary = hn::PromoteTo(d, hn::BitCast(narrow, upper));
  }
}

/// Both parts of one element.
template <class Format>
std::array<double, 2> element(const std::byte* from) {
  std::array<std::conditional_t<sizeof(typename Format::Raw) == 4, float, double>, 2> parts;
  std::memcpy(parts.data(), from, sizeof parts);
  return {parts[0], parts[1]};
}

/// Measures the elements of a finite block whose error may be the greatest, absolute or relative,
/// or not close.  Squares as `Lane`, of numbers that are neither too large nor too small for it,
/// are near enough to choose them by.
template <class Format, class Lane>
HWY_INLINE void measure_news(const std::byte* eager, const std::byte* compiled, std::size_t count,
                             std::int64_t position, const Tolerance& tolerance,
                             PairNumbers& numbers) {
  const hn::ScalableTag<Lane> d;
  using V = hn::Vec<decltype(d)>;
  constexpr bool narrow = sizeof(Lane) == 4;
  constexpr std::size_t bytes = 2 * sizeof(typename Format::Raw);
  // A little less, for some roundings each way, and never so large that 0 times it is no number.
  const auto square = [](double x) {
    const double less = x * x * (1 - (narrow ? 0x1p-18 : 0x1p-40));
    return static_cast<Lane>(std::min(less, narrow ? 0x1p100 : 0x1p1000));
  };
  Lane error = square(numbers.max_abs), relative = square(numbers.max_rel);
  const V atol = hn::Set(d, square(tolerance.atol)), rtol = hn::Set(d, square(tolerance.rtol));
  for_vectors(hn::Lanes(d), bytes, eager, compiled, count,
              [&](std::size_t i, const std::byte* at_e, const std::byte* at_c) HWY_ATTR {
                V e[2], c[2];
                load_numbers<Format>(d, at_e, e[0], e[1]);
                load_numbers<Format>(d, at_c, c[0], c[1]);
                const V x = hn::Sub(c[0], e[0]), y = hn::Sub(c[1], e[1]);
                const V apart = hn::Add(hn::Mul(x, x), hn::Mul(y, y));
                const V size = hn::Add(hn::Mul(e[0], e[0]), hn::Mul(e[1], e[1]));
                const V known = hn::Min(hn::Set(d, error), hn::Mul(size, hn::Set(d, relative)));
                const V allowed = hn::Max(atol, hn::Mul(size, rtol));
                const auto news = hn::Gt(apart, hn::Min(known, allowed));
                if (hn::AllFalse(d, news)) return false;
                std::uint8_t bits[8] = {};
                hn::StoreMaskBits(d, news, bits);
                std::uint64_t left;
                std::memcpy(&left, bits, sizeof left);
                for (; left != 0; left &= left - 1) {
                  const std::size_t at = i + static_cast<std::size_t>(std::countr_zero(left));
                  measure_complex(element<Format>(eager + at * bytes),
                                  element<Format>(compiled + at * bytes),
                                  position + static_cast<std::int64_t>(at), tolerance, numbers);
                }
                error = square(numbers.max_abs);
                relative = square(numbers.max_rel);
                return false;
              });
}

/// Notes the classes and distances of a finite block, and the places of what is new.
template <class Format, class Raw = typename Format::Raw>
HWY_INLINE void note_scan(const std::byte* eager, const std::byte* compiled, std::size_t count,
                          std::int64_t position, const ComplexScan<Raw>& scanned,
                          const Distances<Raw>& apart, PairNumbers& numbers) {
  const Scan<Raw>& found = scanned.found;
  const auto payload = static_cast<std::int64_t>(found.payload);
  const auto zero_sign = static_cast<std::int64_t>(scanned.zero_sign);
  const auto last_bits = static_cast<std::int64_t>(scanned.last_bits);
  numbers.payload_differing += payload;
  numbers.differing += payload;
  numbers.unequal += static_cast<std::int64_t>(found.unequal);
  numbers.of(DifferenceClass::zero_sign) += zero_sign;
  numbers.of(DifferenceClass::last_bits) += last_bits;
  numbers.of(DifferenceClass::value) += payload - zero_sign - last_bits;
  if (found.max_ulp > 1) {
    apart.count_in(count, found.unequal, numbers);
  } else {
    numbers.ulps[0] += static_cast<std::int64_t>(found.unequal);
  }
  if (numbers.first_payload < 0 || numbers.first_differing < 0) {
    const auto first = std::mismatch(eager, eager + count * 2 * sizeof(Raw), compiled).first;
    const std::int64_t at =
        position + (first - eager) / static_cast<std::ptrdiff_t>(2 * sizeof(Raw));
    if (numbers.first_payload < 0) numbers.first_payload = at;
    if (numbers.first_differing < 0) numbers.first_differing = at;
  }
  if (found.max_ulp > numbers.max_ulp) {
    numbers.max_ulp = found.max_ulp;
    const auto at = std::find(apart.of.begin(), apart.of.end(), found.max_ulp) - apart.of.begin();
    numbers.max_ulp_at = position + at;
  }
}

template <class Format>
void complex_kernel(const Dtype& dtype, const std::byte* eager, const std::byte* compiled,
                    std::size_t count, std::int64_t position, const Tolerance& tolerance,
                    PairNumbers& numbers) {
  using Raw = typename Format::Raw;
  if (count == 0) return;
  const bool equal = std::memcmp(eager, compiled, count * 2 * sizeof(Raw)) == 0;
  const bool vacuous = numbers.all_zero || numbers.all_nan;
  if (equal && !vacuous) return;
  Distances<Raw> apart;
  std::optional<ComplexScan<Raw>> near;
  // As all before were; of the first, `apart` tells the place.
  if (kPairs && numbers.max_ulp == 1) near = scan_near<Format>(eager, compiled, count);
  const ComplexScan<Raw> scanned =
      near ? *near : scan_complex<Format>(eager, compiled, count, apart);
  const Scan<Raw>& found = scanned.found;
  if (!is_within<Format>(kReach, found))
    return compare_each(dtype, eager, compiled, count, position, tolerance, numbers);
  numbers.all_zero = numbers.all_zero && found.largest == 0;
  numbers.all_nan = false;
  if (equal) return;
  note_scan<Format>(eager, compiled, count, position, scanned, apart, numbers);
  if (found.unequal == 0) return;
  const Bounds most = bounds_of<Format>(found);
  const bool nothing_new = modulus(most.error, most.error) <= numbers.max_abs &&
                           most.relative * (1 + 0x1p-40) <= numbers.max_rel;
  if (nothing_new && found.max_ulp <= free_ulps<Format>(tolerance)) return;
  // In this reach those of differences in the last place are normal as floats, too.
  if constexpr (sizeof(Raw) == 4) {
    if (is_within<Format>(30, found)) {
      measure_news<Format, float>(eager, compiled, count, position, tolerance, numbers);
      return;
    }
  }
  measure_news<Format, double>(eager, compiled, count, position, tolerance, numbers);
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
