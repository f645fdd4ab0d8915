// The pass over a block of integers, bools and quantized integers; block.h says why there is no
// include guard.

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

/// What the integers of a block tell.
template <class Unsigned>
struct IntegerScan {
  std::size_t differing = 0;
  Unsigned furthest = 0;  ///< greatest distance
  Unsigned least =
      0;  ///< least magnitude of eager that is not 0, less 1; all ones if there is none
};

/// |e - c| of every lane.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> distance(D, hn::Vec<D> e, hn::Vec<D> c) {
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(du, hn::Sub(hn::Max(e, c), hn::Min(e, c)));
}

template <class Int, class Unsigned = std::make_unsigned_t<Int>>
HWY_INLINE IntegerScan<Unsigned> scan_integers(const std::byte* eager, const std::byte* compiled,
                                               std::size_t count) {
  const hn::ScalableTag<Int> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto ones = hn::Set(du, static_cast<Unsigned>(~Unsigned{0}));
  std::size_t differing = 0;
  auto furthest = hn::Zero(du), smallest = ones;
  for_vectors(hn::Lanes(d), sizeof(Int), eager, compiled, count,
              [&](std::size_t, const std::byte* at_e, const std::byte* at_c) HWY_ATTR {
                const auto e = load(d, at_e), c = load(d, at_c);
                differing += hn::CountTrue(d, hn::Ne(e, c));
                furthest = hn::Max(furthest, distance(d, e, c));
                auto magnitude = hn::BitCast(du, e);
                if constexpr (std::is_signed_v<Int>) magnitude = hn::BitCast(du, hn::Abs(e));
                smallest = hn::Min(smallest, hn::Add(magnitude, ones));
                return false;
              });
  return {differing, greatest(du, furthest), least(du, smallest)};
}

/// Distances are exact; relative errors and explicit tolerances are in double.
template <class Int>
void integer_kernel(const Dtype&, const std::byte* eager, const std::byte* compiled,
                    std::size_t count, std::int64_t position, const Tolerance& tolerance,
                    PairNumbers& numbers) {
  using Unsigned = std::make_unsigned_t<Int>;
  if (count == 0) return;
  const hn::ScalableTag<Int> d;
  numbers.all_nan = false;
  if (numbers.all_zero) {
    numbers.all_zero = find(d, eager, compiled, count, position, [&](auto e, auto c) HWY_ATTR {
                         return hn::Ne(hn::Or(e, c), hn::Zero(d));
                       }) < 0;
  }
  if (std::memcmp(eager, compiled, count * sizeof(Int)) == 0) return;
  const auto found = scan_integers<Int>(eager, compiled, count);
  if (numbers.first_differing < 0) {
    numbers.first_differing = find(d, eager, compiled, count, position,
                                   [](auto e, auto c) HWY_ATTR { return hn::Ne(e, c); });
    numbers.first_payload = numbers.first_differing;
  }
  const auto differing = static_cast<std::int64_t>(found.differing);
  numbers.payload_differing += differing;
  numbers.differing += differing;
  numbers.unequal += differing;
  if (found.furthest > numbers.max_ulp) {
    numbers.max_ulp = found.furthest;
    numbers.max_abs = static_cast<double>(found.furthest);
    numbers.max_abs_at = numbers.max_ulp_at =
        find(d, eager, compiled, count, position, [&](auto e, auto c) HWY_ATTR {
          const hn::RebindToUnsigned<decltype(d)> du;
          return hn::RebindMask(d, hn::Eq(distance(d, e, c), hn::Set(du, found.furthest)));
        });
  }
  // No element of the block has a greater relative error than the greatest distance at the smallest
  // number.
  const double most = static_cast<double>(found.furthest) / (static_cast<double>(found.least) + 1);
  const bool exact = tolerance == Tolerance{};
  if (exact) {
    numbers.not_close += differing;
    if (numbers.first_not_close < 0) numbers.first_not_close = numbers.first_differing;
  }
  if (exact && most <= numbers.max_rel) return;
  for (std::size_t i = 0; i < count; ++i) {
    Int e, c;
    std::memcpy(&e, eager + i * sizeof e, sizeof e);
    std::memcpy(&c, compiled + i * sizeof c, sizeof c);
    if (e == c) continue;
    const auto [low, high] = std::minmax(e, c);
    const auto apart = static_cast<double>(
        static_cast<Unsigned>(static_cast<Unsigned>(high) - static_cast<Unsigned>(low)));
    const double magnitude = std::fabs(static_cast<double>(e));
    if (magnitude > 0) numbers.max_rel = std::max(numbers.max_rel, apart / magnitude);
    if (exact || apart <= tolerance.atol + tolerance.rtol * magnitude) continue;
    ++numbers.not_close;
    if (numbers.first_not_close < 0)
      numbers.first_not_close = position + static_cast<std::int64_t>(i);
  }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
