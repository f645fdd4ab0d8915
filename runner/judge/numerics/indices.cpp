#include "judge/numerics/indices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>
#include <set>
#include <xtensor/xarray.hpp>
#include <xtensor/xaxis_slice_iterator.hpp>

#include "base/text.h"
#include "judge/numerics/numbers.h"

namespace lockstep {
namespace {

using Indices = xt::xarray<std::int64_t>;

/// The elements of an integer tensor in an array of their own.
Indices read_indices(const TensorView& view) {
  std::vector<std::size_t> shape(view.shape.begin(), view.shape.end());
  Indices indices = Indices::from_shape(shape);
  const bool is_signed = view.dtype->kind == NumberKind::signed_integer;
  std::vector<std::int64_t> at(view.shape.size(), 0);
  for (std::int64_t& index : indices) {
    std::int64_t element = view.offset;
    for (std::size_t d = 0; d < at.size(); ++d) element += at[d] * view.strides[d];
    const std::uint64_t bits =
        load_bits(view.bytes.data() + element * view.dtype->bytes, view.dtype->bytes);
    index = is_signed ? decode_signed(*view.dtype, bits) : static_cast<std::int64_t>(bits);
    for (std::size_t d = at.size(); d-- > 0;) {  // the next element in row-major order
      if (++at[d] < view.shape[d]) break;
      at[d] = 0;
    }
  }
  return indices;
}

/// Along which dimension, or flattened: what is common to both sides.
struct Axis {
  std::optional<std::size_t> dim;
  /// Whether the index tensor has the dimension (topk, sort, keepdim) or not (argmax).
  bool kept = true;
  std::int64_t size = 0;
};

Result<Axis> axis_of(const TensorView& of, const TensorView& indices, const Policy& policy) {
  Axis axis;
  if (!policy.dim) {
    axis.size = of.elements();
    return axis;
  }
  const auto rank = static_cast<std::int64_t>(of.shape.size());
  const std::int64_t dim = *policy.dim < 0 ? *policy.dim + rank : *policy.dim;
  if (dim < 0 || dim >= rank) {
    return fail(fmt::format("'{}' has no dimension {}", policy.of, *policy.dim));
  }
  axis.dim = static_cast<std::size_t>(dim);
  axis.size = of.shape[*axis.dim];
  axis.kept = indices.shape.size() == of.shape.size();
  std::vector<std::int64_t> expected = of.shape;
  std::vector<std::int64_t> found = indices.shape;
  expected.erase(expected.begin() + dim);
  if (axis.kept) found.erase(found.begin() + dim);
  if (expected != found) {
    return fail(fmt::format("indices of shape [{}] do not select from {} along {}",
                            fmt::join(indices.shape, ", "), describe(of), dim));
  }
  return axis;
}

/// The element of `of` that the index at `at` selects.
const std::byte* selected(const TensorView& of, const Axis& axis, std::vector<std::int64_t> at,
                          std::int64_t index) {
  if (!axis.dim) {
    at.assign(of.shape.size(), 0);
    for (std::size_t d = of.shape.size(); d-- > 0;) {
      at[d] = index % of.shape[d];
      index /= of.shape[d];
    }
  } else if (axis.kept) {
    at[*axis.dim] = index;
  } else {
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(*axis.dim), index);
  }
  std::int64_t element = of.offset;
  for (std::size_t d = 0; d < at.size(); ++d) element += at[d] * of.strides[d];
  return of.bytes.data() + element * of.dtype->bytes;
}

bool equal_elements(const Dtype& dtype, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, static_cast<std::size_t>(dtype.bytes)) == 0) return true;
  if (!number_dtype(dtype).is_floating()) return false;
  double x[2], y[2];
  decode_block(dtype, a, 1, x);
  decode_block(dtype, b, 1, y);
  for (int part = 0; part < (dtype.is_complex() ? 2 : 1); ++part) {
    if (x[part] != y[part] && !(std::isnan(x[part]) && std::isnan(y[part]))) return false;
  }
  return true;
}

/// How many of a side's indices repeat one along the axis.
std::int64_t repeated(const Indices& indices, const Axis& axis) {
  if (!axis.kept || indices.size() == 0) return 0;
  std::int64_t count = 0;
  const auto count_line = [&](auto begin, auto end) {
    std::set<std::int64_t> seen;
    for (auto at = begin; at != end; ++at) count += !seen.insert(*at).second;
  };
  if (!axis.dim) {
    count_line(indices.begin(), indices.end());
    return count;
  }
  for (auto line = xt::axis_slice_begin(indices, *axis.dim);
       line != xt::axis_slice_end(indices, *axis.dim); ++line) {
    count_line(line->begin(), line->end());
  }
  return count;
}

}  // namespace

CheckResult check_indices(Comparison& comparison, const Policy& policy) {
  const std::int64_t differing = comparison.pair().differing;
  /// If their selection cannot be compared, different indices count as different.
  const auto plainly = [&](const std::string& why) {
    return leaf(Quantity::differing, differing, 0, [&] { return why; });
  };
  if (differing == 0) return plainly("");
  const Subject& subject = comparison.subject();
  const auto find = [&](const auto& by_name) -> const TensorView* {
    return by_name ? by_name(policy.of) : nullptr;
  };
  const TensorView* eager_of = find(subject.eager_tensor);
  const TensorView* compiled_of = find(subject.compiled_tensor);
  if (!subject.eager->dtype->is_integer()) {
    return plainly("index_equivalent is for integer outputs");
  }
  if (eager_of == nullptr || compiled_of == nullptr || eager_of->shape != compiled_of->shape ||
      eager_of->dtype != compiled_of->dtype) {
    return plainly(
        fmt::format("'{}' is no tensor of the same shape and dtype on both sides", policy.of));
  }
  const auto axis = axis_of(*eager_of, *subject.eager, policy);
  if (!axis) return plainly(axis.error().message);

  const Indices e = read_indices(*subject.eager);
  const Indices c = read_indices(*subject.compiled);
  std::int64_t wrong = 0;
  std::string first;
  std::vector<std::int64_t> at(e.dimension(), 0);
  for (std::size_t i = 0; i < e.size(); ++i) {
    const std::int64_t x = e.flat(i);
    const std::int64_t y = c.flat(i);
    const auto in_range = [&](std::int64_t index) { return index >= 0 && index < axis->size; };
    std::string what;
    if (!in_range(x) || !in_range(y)) {
      if (x != y) what = fmt::format("index {}, eager's {}, of {}", y, x, axis->size);
    } else {
      const std::byte* mine = selected(*compiled_of, *axis, at, y);
      const std::byte* theirs = selected(*eager_of, *axis, at, x);
      if (!equal_elements(*eager_of->dtype, theirs, mine)) {
        what = fmt::format("index {} selects {}, eager's {} selects {}", y,
                           format_element(*compiled_of->dtype, mine), x,
                           format_element(*eager_of->dtype, theirs));
      }
    }
    if (!what.empty() && ++wrong == 1) {
      first = fmt::format(", first at [{}]: {}", fmt::join(at, ", "), what);
    }
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < subject.eager->shape[d]) break;
      at[d] = 0;
    }
  }
  const std::int64_t twice = repeated(c, *axis);
  if (wrong == 0 && twice > 0 && repeated(e, *axis) == 0) {
    return leaf(Quantity::repeated, twice, 0, [&] {
      return fmt::format("{} indices name an element that another one names too", twice);
    });
  }
  return leaf(Quantity::selection, wrong, 0, [&] {
    return fmt::format("{} of {} indices select other values{}", wrong, e.size(), first);
  });
}

}  // namespace lockstep
