#include "judge/numerics/heat_map.h"

#include <array>
#include <cmath>
#include <cstring>
#include <xtensor/xtensor.hpp>

#include "judge/numerics/gold.h"
#include "judge/numerics/modulus.h"
#include "judge/numerics/numbers.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMostCells = 16;
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;

/// |c - e| of one element's numbers; 0 where both are NaN, infinity where only one side is special.
double error_of(const double* e, const double* c, std::size_t parts) {
  double error = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    if (e[part] == c[part] || (std::isnan(e[part]) && std::isnan(c[part]))) continue;
    const double apart = std::fabs(c[part] - e[part]);
    error = std::isnan(apart) ? HUGE_VAL : modulus(error, apart);
  }
  return error;
}

}  // namespace

std::optional<HeatMap> heat_map(const TensorView& eager, const TensorView& compiled) {
  const std::int64_t elements = eager.elements();
  if (elements < 2 || elements > kMostElements) return std::nullopt;
  const std::int64_t width = eager.shape.back();
  const std::int64_t height = elements / width;
  const std::int64_t columns = std::min(kMostCells, width);
  const std::int64_t rows = std::min(kMostCells, height);
  const std::array shape = {static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)};
  xt::xtensor<std::int64_t, 2> differing(shape, 0);
  xt::xtensor<double, 2> greatest(shape, 0.0);

  const Dtype& dtype = *eager.dtype;
  const auto bytes = static_cast<std::size_t>(dtype.bytes);
  const std::size_t parts = dtype.is_complex() ? 2 : 1;
  const std::array views = {&eager, &compiled};
  std::array<double, static_cast<std::size_t>(TensorWalk::kBlock) * 2> e, c;
  const TensorWalk walk(views, TensorWalk::Order::index);
  walk.visit(0, elements, [&](std::int64_t position, std::int64_t count, const auto& blocks) {
    const auto in_block = static_cast<std::size_t>(count);
    if (std::memcmp(blocks[0], blocks[1], in_block * bytes) == 0) return;
    decode_block(dtype, blocks[0], in_block, e.data());
    decode_block(dtype, blocks[1], in_block, c.data());
    for (std::size_t i = 0; i < in_block; ++i) {
      if (same_element(dtype, blocks[0] + i * bytes, blocks[1] + i * bytes)) continue;
      const std::int64_t at = position + static_cast<std::int64_t>(i);
      const std::int64_t row = at / width * rows / height;
      const std::int64_t column = at % width * columns / width;
      ++differing(row, column);
      double& most = greatest(row, column);
      most = std::max(most, error_of(e.data() + i * parts, c.data() + i * parts, parts));
    }
  });
  HeatMap heat{rows, columns, {differing.begin(), differing.end()}, {}};
  for (const double each : greatest) heat.greatest.push_back(three_digits(each));
  return heat;
}

}  // namespace lockstep
