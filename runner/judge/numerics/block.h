// Vectors of a block, for the kernels.  No include guard: kernels.cpp compiles this file, and those
// that follow it, once for each target of Highway.

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr T kMagnitude = static_cast<T>(static_cast<std::make_unsigned_t<T>>(~T{0}) >> 1);

/// One vector that lies anywhere.
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const std::byte* from) {
#if HWY_TARGET == HWY_SCALAR
  hn::TFromD<D> value;
  std::memcpy(&value, from, sizeof value);
  return hn::Set(d, value);
#else
  const hn::Repartition<std::uint8_t, D> bytes;
  return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
#endif
}

/// Complex elements, the real parts in one vector and the imaginary ones in another.
template <class D, class V>
HWY_INLINE void load_parts(D d, const std::byte* from, V& real, V& imaginary) {
  const std::size_t size = hn::Lanes(d) * sizeof(hn::TFromD<D>);
  const V low = load(d, from);
  const V high = load(d, from + size);
#if HWY_TARGET == HWY_SCALAR
  real = low;
  imaginary = high;
#else
  real = hn::ConcatEven(d, high, low);
  imaginary = hn::ConcatOdd(d, high, low);
#endif
}

/// Calls `visit(i, eager, compiled)` with addresses of `lanes` elements each, of `bytes` bytes,
/// from the i-th on; what the last ones lack are zeros on both sides.  Stops where `visit` returns
/// true.
template <class Visit>
HWY_INLINE void for_vectors(std::size_t lanes, std::size_t bytes, const std::byte* eager,
                            const std::byte* compiled, std::size_t count, Visit&& visit) {
  alignas(kWidest) std::array<std::byte, 2 * kWidest> rest[2];
  const std::size_t whole = count / lanes * lanes;
  if (whole < count) {
    const std::size_t left = (count - whole) * bytes;
    for (auto& side : rest) side.fill(std::byte{0});
    std::memcpy(rest[0].data(), eager + whole * bytes, left);
    std::memcpy(rest[1].data(), compiled + whole * bytes, left);
  }
  for (std::size_t i = 0; i < count; i += lanes) {
    const bool inside = i < whole;
    if (visit(i, inside ? eager + i * bytes : rest[0].data(),
              inside ? compiled + i * bytes : rest[1].data()))
      return;
  }
}

/// The first element of a block for which `is_it(eager, compiled)`, of vectors, holds; as a
/// position.
template <class D, class Predicate>
HWY_INLINE std::int64_t find(D d, const std::byte* eager, const std::byte* compiled,
                             std::size_t count, std::int64_t position, Predicate&& is_it) {
  std::int64_t found = -1;
  for_vectors(hn::Lanes(d), sizeof(hn::TFromD<D>), eager, compiled, count,
              [&](std::size_t i, const std::byte* e, const std::byte* c) HWY_ATTR {
                const std::intptr_t lane = hn::FindFirstTrue(d, is_it(load(d, e), load(d, c)));
                if (lane >= 0) found = position + static_cast<std::int64_t>(i) + lane;
                return lane >= 0;
              });
  return found;
}

template <class D>
HWY_INLINE hn::TFromD<D> greatest(D d, hn::Vec<D> v) {
  if constexpr (sizeof(hn::TFromD<D>) > 1) return hn::GetLane(hn::MaxOfLanes(d, v));
  std::array<hn::TFromD<D>, kWidest> lanes;  // not there for bytes
  hn::StoreU(v, d, lanes.data());
  return *std::max_element(lanes.data(), lanes.data() + hn::Lanes(d));
}

template <class D>
HWY_INLINE hn::TFromD<D> least(D d, hn::Vec<D> v) {
  if constexpr (sizeof(hn::TFromD<D>) > 1) return hn::GetLane(hn::MinOfLanes(d, v));
  std::array<hn::TFromD<D>, kWidest> lanes;
  hn::StoreU(v, d, lanes.data());
  return *std::min_element(lanes.data(), lanes.data() + hn::Lanes(d));
}

/// Distances in ulp of a block: whole vectors, 0 where there is no distance.
template <class Raw>
struct Distances {
  alignas(kWidest) std::array<Raw, kBlock + kWidest / sizeof(Raw)> of;

  /// Counts those of `count` elements that are not 0, which are so many, by powers of two.
  void count_in(std::size_t count, std::size_t unequal, PairNumbers& numbers) const {
    const hn::ScalableTag<Raw> d;
    const auto further_than = [&](Raw limit) HWY_ATTR {
      std::size_t further = 0;
      for (std::size_t i = 0; i < count; i += hn::Lanes(d))
        further += hn::CountTrue(d, hn::Gt(hn::Load(d, of.data() + i), hn::Set(d, limit)));
      return further;
    };
    for (std::size_t power = 0; unequal > 0; ++power) {
      const bool last = power == 8 * sizeof(Raw);
      const std::size_t rest = last ? 0 : further_than(static_cast<Raw>(Raw{1} << power));
      numbers.ulps[power] += static_cast<std::int64_t>(unequal - rest);
      unequal = rest;
    }
  }
};

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
