#include "judge/numerics/walk.h"

#include <cstring>
#include <numeric>
#include <stdexcept>

#include "judge/numerics/numbers.h"

namespace lockstep {
namespace {

/// Bytes of all views that no cache holds.
constexpr std::int64_t kLarge = 32 << 20;

template <std::size_t bytes>
void copy_strided(std::byte* to, const std::byte* from, std::int64_t stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * static_cast<std::int64_t>(bytes), from + i * stride, bytes);
  }
}

void copy_row(std::byte* to, const std::byte* from, std::int64_t bytes, std::int64_t stride,
              std::int64_t count) {
  if (stride == bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(count * bytes));
    return;
  }
  switch (bytes) {
    case 1:
      return copy_strided<1>(to, from, stride, count);
    case 2:
      return copy_strided<2>(to, from, stride, count);
    case 4:
      return copy_strided<4>(to, from, stride, count);
    case 8:
      return copy_strided<8>(to, from, stride, count);
    default:
      return copy_strided<16>(to, from, stride, count);
  }
}

/// Flips the signs of numbers that lie `step` bytes apart.
void negate(const Dtype& number, std::byte* at, std::int64_t step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, at += step) {
    std::uint64_t bits = load_bits(at, number.bytes);
    if (number.is_floating()) {
      bits ^= std::uint64_t{1} << (8 * number.bytes - 1);
    } else {
      bits = 0 - bits;
    }
    std::memcpy(at, &bits,
                static_cast<std::size_t>(number.bytes));  // little-endian: low bytes first
  }
}

void resolve_block(const TensorView& view, std::byte* block, std::int64_t count) {
  const Dtype& number = number_dtype(*view.dtype);
  const std::int64_t bytes = view.dtype->bytes;
  if (!view.dtype->is_complex()) {
    if (view.neg) negate(number, block, bytes, count);
    return;
  }
  if (view.neg) negate(number, block, bytes, count);
  // -conj(z) leaves the imaginary part's sign as it is.
  if (view.neg != view.conj) negate(number, block + number.bytes, bytes, count);
}

}  // namespace

TensorWalk::TensorWalk(std::span<const TensorView* const> views, Order order) {
  if (views.size() > kMost) throw std::logic_error("a walk over more views than it has room for");
  const std::vector<std::int64_t>& shape = views.front()->shape;
  rank_ = shape.size();
  for (const TensorView* view : views) {
    const bool conj = view->conj && view->dtype->is_complex();
    operands_.push_back({view, view->dtype->bytes, conj || view->neg});
  }
  elements_ = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const bool expanded = order == Order::memory &&
                          std::all_of(views.begin(), views.end(), [&](const TensorView* view) {
                            return view->strides[d] == 0;
                          });
    if (expanded && shape[d] > 0) {
      multiplicity_ *= shape[d];
    } else {
      elements_ *= shape[d];
      order_.push_back(d);
    }
  }
  // The order of memory: greatest stride first.
  const auto outer = [&](std::size_t a, std::size_t b) {
    for (const TensorView* view : views) {
      if (view->strides[a] != view->strides[b]) return view->strides[a] > view->strides[b];
    }
    return false;
  };
  if (order == Order::memory) std::stable_sort(order_.begin(), order_.end(), outer);
  for (const std::size_t d : order_) {
    sizes_.push_back(shape[d]);
    Dimension inner{shape[d], {}};
    for (std::size_t i = 0; i < views.size(); ++i) inner.strides[i] = views[i]->strides[d];
    bool merged = !dimensions_.empty() && elements_ > 0;
    for (std::size_t i = 0; merged && i < views.size(); ++i) {
      merged = dimensions_.back().strides[i] == inner.strides[i] * inner.size;
    }
    if (merged) {
      dimensions_.back().size *= inner.size;
      dimensions_.back().strides = inner.strides;
    } else {
      dimensions_.push_back(inner);
    }
  }
  if (dimensions_.empty()) dimensions_.push_back({1, {1, 1, 1, 1}});
  std::int64_t bytes = 0;
  for (const Operand& operand : operands_) bytes += operand.bytes;
  is_large_ = elements_ > kLarge / bytes;
}

std::vector<std::int64_t> TensorWalk::unravel(std::int64_t position) const {
  std::vector<std::int64_t> at(dimensions_.size());
  for (std::size_t d = dimensions_.size(); d-- > 0;) {
    at[d] = d == 0 ? position : position % dimensions_[d].size;
    position /= dimensions_[d].size;
  }
  return at;
}

std::vector<std::int64_t> TensorWalk::index_of(std::int64_t position) const {
  std::vector<std::int64_t> index(rank_);
  for (std::size_t d = order_.size(); d-- > 0;) {
    index[order_[d]] = position % sizes_[d];
    position /= sizes_[d];
  }
  return index;
}

const std::byte* TensorWalk::block(std::size_t operand, std::span<const std::int64_t> start,
                                   std::int64_t count, std::byte* buffer) const {
  const Operand& from = operands_[operand];
  const Dimension& inner = dimensions_.back();
  const auto address = [&](std::span<const std::int64_t> at) {
    std::int64_t element = from.view->offset;
    for (std::size_t d = 0; d < at.size(); ++d) element += at[d] * dimensions_[d].strides[operand];
    return from.view->bytes.data() + element * from.bytes;
  };
  const std::int64_t stride = inner.strides[operand] * from.bytes;
  if (stride == from.bytes && count <= inner.size - start.back() && !from.resolve) {
    return address(start);
  }
  std::vector<std::int64_t> at(start.begin(), start.end());
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t row = std::min(count - done, inner.size - at.back());
    copy_row(buffer + done * from.bytes, address(at), from.bytes, stride, row);
    done += row;
    at.back() += row;
    for (std::size_t d = at.size() - 1; d > 0 && at[d] == dimensions_[d].size; --d) {
      at[d] = 0;
      ++at[d - 1];
    }
  }
  if (from.resolve) resolve_block(*from.view, buffer, count);
  return buffer;
}

}  // namespace lockstep
