#include "judge/numerics/gold.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>

#include "judge/numerics/close.h"
#include "judge/numerics/kernels.h"
#include "judge/numerics/numbers.h"

namespace lockstep {
namespace {

template <class T>
void decode_as(const std::byte* block, std::size_t count, double* numbers) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, block + i * sizeof value, sizeof value);
    numbers[i] = static_cast<double>(value);
  }
}

void decode_integers(const Dtype& dtype, const std::byte* block, std::size_t count,
                     double* numbers) {
  const bool is_signed = dtype.kind == NumberKind::signed_integer;
  switch (dtype.bytes) {
    case 1:
      return is_signed ? decode_as<std::int8_t>(block, count, numbers)
                       : decode_as<std::uint8_t>(block, count, numbers);
    case 2:
      return is_signed ? decode_as<std::int16_t>(block, count, numbers)
                       : decode_as<std::uint16_t>(block, count, numbers);
    case 4:
      return is_signed ? decode_as<std::int32_t>(block, count, numbers)
                       : decode_as<std::uint32_t>(block, count, numbers);
    default:
      return is_signed ? decode_as<std::int64_t>(block, count, numbers)
                       : decode_as<std::uint64_t>(block, count, numbers);
  }
}

/// What masks tell apart.
enum class Special { finite, nan, plus_infinity, minus_infinity };

Special special_of(double x) {
  if (std::isfinite(x)) return Special::finite;
  if (std::isnan(x)) return Special::nan;
  return x > 0 ? Special::plus_infinity : Special::minus_infinity;
}

/// The same of a gold's number in a narrower dtype, where it may overflow.
Special special_of(const Dtype& number, double gold) {
  if (!number.is_floating() || number.bytes == 8) return special_of(gold);
  return special_of(decode_float(number, encode_float(number, gold)));
}

void merge(GoldNumbers& total, const GoldNumbers& part) {
  total.numbers += part.numbers;
  total.eager_special += part.eager_special;
  total.compiled_special += part.compiled_special;
  total.eager_max = std::max(total.eager_max, part.eager_max);
  if (part.compiled_max > total.compiled_max) {
    total.compiled_max = part.compiled_max;
    total.compiled_max_at = part.compiled_max_at;
  }
  total.gold_max = std::max(total.gold_max, part.gold_max);
  for (std::size_t i = 0; i < total.eager_square.size(); ++i) {
    total.eager_square[i] += part.eager_square[i];
    total.compiled_square[i] += part.compiled_square[i];
  }
  total.without_gold += part.without_gold;
  total.beyond_steps += part.beyond_steps;
  if (total.beyond_steps_at < 0) total.beyond_steps_at = part.beyond_steps_at;
  total.eager_gross += part.eager_gross;
  total.compiled_gross += part.compiled_gross;
}

/// Compares blocks of numbers with those of their gold.
class GoldPass {
 public:
  using Numbers = std::span<const double>;

  GoldPass(const Dtype& dtype, double steps, VectorLevel level)
      : number_(number_dtype(dtype)),
        parts_(dtype.is_complex() ? 2 : 1),
        atol_(close_tolerance(dtype).atol),
        steps_(number_.is_floating() ? steps : 0),
        kernel_(gold_kernel(level)) {}

  /// `first` is the index of the first of these numbers.
  void add(Numbers eager, Numbers compiled, Numbers gold, std::size_t first,
           GoldNumbers& out) const {
    if (add_finite(eager, compiled, gold, first, out)) return;
    const auto is_finite = [&](std::size_t i) {
      return std::isfinite(eager[i]) && std::isfinite(compiled[i]) && std::isfinite(gold[i]);
    };
    for (std::size_t i = 0; i < gold.size(); ++i) {
      const std::size_t begin = i;
      while (i < gold.size() && is_finite(i)) ++i;
      const auto run = [&](Numbers of) { return of.subspan(begin, i - begin); };
      if (i > begin) add_finite(run(eager), run(compiled), run(gold), first + begin, out);
      if (i == gold.size()) return;
      const double e = eager[i], c = compiled[i];
      const Special truth = special_of(number_, gold[i]);
      out.eager_special += special_of(e) != truth;
      out.compiled_special += special_of(c) != truth;
      // Where e or c is not finite it is the masks' business.
      if (std::isfinite(e) && std::isfinite(c)) out.without_gold += e != c;
    }
  }

 private:
  /// False, and nothing is added, where a number is not finite.
  bool add_finite(Numbers e, Numbers c, Numbers g, std::size_t first, GoldNumbers& out) const {
    std::array<double, TensorWalk::kNumbers> eager, compiled;
    GoldSums sums{out.eager_square, out.compiled_square};
    if (!kernel_({e.data(), c.data(), g.data(), g.size(), first, eager.data(), compiled.data()},
                 sums))
      return false;
    out.numbers += static_cast<std::int64_t>(g.size());
    out.eager_max = std::max(out.eager_max, sums.eager_max);
    out.gold_max = std::max(out.gold_max, sums.gold_max);
    out.eager_square = sums.eager_square;
    out.compiled_square = sums.compiled_square;
    const auto at = [&](std::size_t i) { return static_cast<std::int64_t>(first + i) / parts_; };
    if (sums.compiled_max > out.compiled_max) {
      out.compiled_max = sums.compiled_max;
      out.compiled_max_at = at(static_cast<std::size_t>(
          std::find(compiled.begin(), compiled.end(), sums.compiled_max) - compiled.begin()));
    }
    if (sums.gross > 0) add_gross(g, eager, compiled, out);
    const bool known = out.beyond_steps_at >= 0;
    if (sums.further == 0) return true;
    if (known && !(steps_ > 0)) {
      out.beyond_steps += static_cast<std::int64_t>(sums.further);
      return true;
    }
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (!(compiled[i] > eager[i])) continue;
      if (!(compiled[i] > eager[i] + slack(g[i]))) continue;
      ++out.beyond_steps;
      if (out.beyond_steps_at < 0) out.beyond_steps_at = at(i);
    }
    return true;
  }

  void add_gross(Numbers g, std::span<const double> eager, std::span<const double> compiled,
                 GoldNumbers& out) const {
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double eighth = std::fabs(g[i]) / 8;
      if (!(eager[i] > eighth || compiled[i] > eighth)) continue;
      const double ulp = number_.is_floating() ? ulp_at(number_, g[i]) : 0;
      const double gross = std::max({eighth, atol_, ulp});
      out.eager_gross += eager[i] > gross;
      out.compiled_gross += compiled[i] > gross;
    }
  }

  double slack(double gold) const { return steps_ > 0 ? steps_ * ulp_at(number_, gold) : 0; }

  const Dtype& number_;
  std::int64_t parts_;
  double atol_;
  double steps_;
  GoldKernel kernel_;
};

double root_mean(const EightSums& squares, std::int64_t count) {
  const double sum = std::accumulate(squares.begin(), squares.end(), 0.0);
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

}  // namespace

double GoldNumbers::eager_rmse() const { return root_mean(eager_square, numbers); }
double GoldNumbers::compiled_rmse() const { return root_mean(compiled_square, numbers); }

std::int64_t GoldNumbers::gross_allowed(double factor, std::int64_t noise) const {
  const auto gross = static_cast<double>(std::max(eager_gross, noise));
  // A factor may be as large as a double, and no count is greater than this one.
  const double most = std::min(2 * std::max(factor, 1.0) * gross, static_cast<double>(looked_at));
  return static_cast<std::int64_t>(most) + std::min<std::int64_t>(2 + looked_at / 8, 8) +
         looked_at / 1000;
}

void decode_block(const Dtype& dtype, const std::byte* block, std::size_t count, double* numbers) {
  const Dtype& number = number_dtype(dtype);
  if (dtype.is_complex()) count *= 2;
  if (!number.is_floating()) return decode_integers(number, block, count, numbers);
  if (const Decoder wide = decoder(number, vector_levels().back())) {
    return wide(block, count, numbers);
  }
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = decode_float(number, load_bits(block + i, 1));
  }
}

GoldNumbers compare_with_gold(const TensorWalk& walk, const Dtype& dtype, const Dtype& gold,
                              double steps, const PassOptions& options) {
  const auto parts_each = static_cast<std::size_t>(dtype.is_complex() ? 2 : 1);
  const GoldPass pass(dtype, steps, options.level.value_or(vector_levels().back()));
  const auto range = [&](std::int64_t begin, std::int64_t end) {
    GoldNumbers out;
    std::array<double, TensorWalk::kNumbers> e, c, g;
    walk.visit(begin, end, [&](std::int64_t position, std::int64_t count, const auto& blocks) {
      const auto elements = static_cast<std::size_t>(count);
      decode_block(dtype, blocks[0], elements, e.data());
      decode_block(dtype, blocks[1], elements, c.data());
      decode_block(gold, blocks[2], elements, g.data());
      const std::size_t numbers = elements * parts_each;
      pass.add({e.data(), numbers}, {c.data(), numbers}, {g.data(), numbers},
               static_cast<std::size_t>(position) * parts_each, out);
    });
    return out;
  };
  std::vector<GoldNumbers> parts(chunk_count(walk.elements()));
  for_chunks(walk.elements(), dtype.bytes, options.threads,
             [&](std::size_t chunk, std::int64_t begin, std::int64_t end) {
               parts[chunk] = range(begin, end);
             });
  GoldNumbers total;
  for (const GoldNumbers& part : parts) merge(total, part);
  total.looked_at = total.numbers;
  total.numbers *= walk.multiplicity();
  total.eager_special *= walk.multiplicity();
  total.compiled_special *= walk.multiplicity();
  total.without_gold *= walk.multiplicity();
  total.beyond_steps *= walk.multiplicity();
  for (double& each : total.eager_square) each *= static_cast<double>(walk.multiplicity());
  for (double& each : total.compiled_square) each *= static_cast<double>(walk.multiplicity());
  return total;
}

double greatest_magnitude(const TensorWalk& walk, const Dtype& dtype, const PassOptions& options) {
  std::vector<double> greatest(chunk_count(walk.elements()), 0.0);
  const auto parts = static_cast<std::size_t>(dtype.is_complex() ? 2 : 1);
  for_chunks(walk.elements(), dtype.bytes, options.threads,
             [&](std::size_t chunk, std::int64_t begin, std::int64_t end) {
               std::array<double, static_cast<std::size_t>(TensorWalk::kBlock) * 2> values;
               walk.visit(begin, end, [&](std::int64_t, std::int64_t count, const auto& blocks) {
                 const auto numbers = static_cast<std::size_t>(count) * parts;
                 decode_block(dtype, blocks[0], static_cast<std::size_t>(count), values.data());
                 for (std::size_t i = 0; i < numbers; ++i) {
                   if (std::isfinite(values[i])) {
                     greatest[chunk] = std::max(greatest[chunk], std::fabs(values[i]));
                   }
                 }
               });
             });
  double all = 0;
  for (const double one : greatest) all = std::max(all, one);
  return all;
}

Conditioning conditioning(const TensorWalk& walk, const Dtype& dtype, const Dtype& gold,
                          double atol) {
  const Dtype& number = number_dtype(dtype);
  const auto parts = static_cast<std::size_t>(dtype.is_complex() ? 2 : 1);
  const double sixteen_ulp = 32 * unit_roundoff(number);
  std::array<double, static_cast<std::size_t>(TensorWalk::kBlock) * 2> e, c, g, p;
  Conditioning out;
  walk.visit(0, walk.elements(), [&](std::int64_t, std::int64_t count, const auto& blocks) {
    const auto elements = static_cast<std::size_t>(count);
    decode_block(dtype, blocks[0], elements, e.data());
    decode_block(dtype, blocks[1], elements, c.data());
    decode_block(gold, blocks[2], elements, g.data());
    decode_block(gold, blocks[3], elements, p.data());
    for (std::size_t i = 0; i < elements * parts; ++i) {
      const bool jumps = special_of(number, g[i]) != special_of(number, p[i]);
      if (special_of(e[i]) != special_of(c[i])) {
        out.unexplained += !jumps;
      } else if (std::isfinite(e[i])) {
        const double unit = atol + sixteen_ulp * std::fabs(e[i]);
        const double error = std::fabs(c[i] - e[i]);
        if (error > 0) out.apart = std::max(out.apart, error / unit);
        const double move = std::fabs(p[i] - g[i]);
        if (move > 0) out.moved = std::max(out.moved, move / unit);
      }
      if (jumps) out.moved = HUGE_VAL;
    }
  });
  return out;
}

}  // namespace lockstep
