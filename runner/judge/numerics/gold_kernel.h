// The pass over a block of numbers and their gold; block.h says why there is no include guard.

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

template <class D>
HWY_INLINE bool is_finite(D d, const GoldBlock& block) {
  auto special = hn::Zero(d);  // NaN where one of them is not finite
  for (const double* of : {block.eager, block.compiled, block.gold}) {
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= block.count; i += hn::Lanes(d)) {
      const auto x = hn::LoadU(d, of + i);
      special = hn::Add(special, hn::Sub(x, x));
    }
    for (; i < block.count; ++i) {
      if (!std::isfinite(of[i])) return false;
    }
  }
  return hn::AllTrue(d, hn::Eq(special, hn::Zero(d)));
}

inline void add_one(const GoldBlock& block, std::size_t i, GoldSums& sums) {
  const double error = std::fabs(block.eager[i] - block.gold[i]);
  const double of_compiled = std::fabs(block.compiled[i] - block.gold[i]);
  const double size = std::fabs(block.gold[i]);
  const std::size_t side = (block.first + i) % sums.eager_square.size();
  block.eager_error[i] = error;
  block.compiled_error[i] = of_compiled;
  sums.eager_square[side] += error * error;
  sums.compiled_square[side] += of_compiled * of_compiled;
  sums.eager_max = std::max(sums.eager_max, error);
  sums.compiled_max = std::max(sums.compiled_max, of_compiled);
  sums.gold_max = std::max(sums.gold_max, size);
  sums.further += of_compiled > error;
  sums.gross += std::max(error, of_compiled) > size / 8;
}

inline bool add_gold(const GoldBlock& block, GoldSums& sums) {
  constexpr std::size_t sides = std::tuple_size_v<EightSums>;
  const hn::CappedTag<double, sides> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t lanes = hn::MaxLanes(d), vectors = sides / lanes;
  if (!is_finite(d, block)) return false;
  std::size_t i = 0;
  for (; i < block.count && (block.first + i) % sides != 0; ++i) add_one(block, i, sums);
  V eager_square[vectors], compiled_square[vectors];
  for (std::size_t each = 0; each < vectors; ++each) {
    eager_square[each] = hn::LoadU(d, sums.eager_square.data() + each * lanes);
    compiled_square[each] = hn::LoadU(d, sums.compiled_square.data() + each * lanes);
  }
  V eager_max = hn::Zero(d), compiled_max = hn::Zero(d), gold_max = hn::Zero(d);
  for (; i + sides <= block.count; i += sides) {
    for (std::size_t each = 0; each < vectors; ++each) {
      const std::size_t at = i + each * lanes;
      const V gold = hn::LoadU(d, block.gold + at), size = hn::Abs(gold);
      const V error = hn::Abs(hn::Sub(hn::LoadU(d, block.eager + at), gold));
      const V of_compiled = hn::Abs(hn::Sub(hn::LoadU(d, block.compiled + at), gold));
      hn::StoreU(error, d, block.eager_error + at);
      hn::StoreU(of_compiled, d, block.compiled_error + at);
      eager_square[each] = hn::Add(eager_square[each], hn::Mul(error, error));
      compiled_square[each] = hn::Add(compiled_square[each], hn::Mul(of_compiled, of_compiled));
      eager_max = hn::Max(eager_max, error);
      compiled_max = hn::Max(compiled_max, of_compiled);
      gold_max = hn::Max(gold_max, size);
      sums.further += hn::CountTrue(d, hn::Gt(of_compiled, error));
      const V eighth = hn::Mul(size, hn::Set(d, 0.125));
      sums.gross += hn::CountTrue(d, hn::Gt(hn::Max(error, of_compiled), eighth));
    }
  }
  for (std::size_t each = 0; each < vectors; ++each) {
    hn::StoreU(eager_square[each], d, sums.eager_square.data() + each * lanes);
    hn::StoreU(compiled_square[each], d, sums.compiled_square.data() + each * lanes);
  }
  sums.eager_max = std::max(sums.eager_max, greatest(d, eager_max));
  sums.compiled_max = std::max(sums.compiled_max, greatest(d, compiled_max));
  sums.gold_max = std::max(sums.gold_max, greatest(d, gold_max));
  for (; i < block.count; ++i) add_one(block, i, sums);
  return true;
}

GoldKernel gold_kernel_here() { return &add_gold; }

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
