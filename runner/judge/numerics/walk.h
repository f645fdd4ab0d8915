#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/tensor.h"

namespace lockstep {

/// Walks up to four views of one shape together, in the order of the first one's memory or of the
/// index, and hands out blocks: as they lie where a view is contiguous there, gathered into a small
/// buffer where it is not (strided, expanded, conj, neg). A position counts elements in the order
/// of the walk; `index_of` turns it into an index.
class TensorWalk {
 public:
  static constexpr std::size_t kMost = 4;
  /// Elements in a block at most: four blocks of the widest dtype fit a first-level cache of 32
  /// KiB.
  static constexpr std::int64_t kBlock = 512;
  /// The real numbers of a block, whose elements may be complex.
  static constexpr auto kNumbers = static_cast<std::size_t>(kBlock) * 2;

  /// `index` visits every element of the shape, the last dimension innermost, so that a position is
  /// what torch calls the flat index.
  enum class Order { memory, index };

  explicit TensorWalk(std::span<const TensorView* const> views, Order order = Order::memory);

  /// Elements that the walk visits: those of the shape, in memory's order less dimensions along
  /// which every view is expanded.
  std::int64_t elements() const { return elements_; }
  /// How many elements of the shape each visited one stands for.
  std::int64_t multiplicity() const { return multiplicity_; }
  /// Index in the shape of the (first) element at a position.
  std::vector<std::int64_t> index_of(std::int64_t position) const;

  /// Calls `visit(position, count, blocks)` for consecutive blocks of [begin, end); blocks[i]
  /// points at `count` elements of view i, side by side, conj and neg resolved.
  template <class Visit>
  void visit(std::int64_t begin, std::int64_t end, Visit&& visit) const;

 private:
  struct Dimension {
    std::int64_t size = 1;
    std::array<std::int64_t, kMost> strides{};
  };
  struct Operand {
    const TensorView* view;
    std::int64_t bytes;
    bool resolve;  ///< conj or neg
  };
  /// How many bytes before it is looked at memory is asked for: a page.
  static constexpr std::int64_t kAhead = 4096;
  /// Buffers for the gathered blocks, 16 bytes for the widest element.
  struct Buffers {
    alignas(64) std::array<std::array<std::byte, kBlock * 16>, kMost> of;
  };

  /// Asks for `bytes` of memory, if any, so that it comes while what lies before it is looked at:
  /// the processor itself asks for no other page than the one that is read.
  static void fetch(const std::byte* from, std::int64_t bytes) {
    for (std::int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(from + line);
  }
  const std::byte* block(std::size_t operand, std::span<const std::int64_t> at, std::int64_t count,
                         std::byte* buffer) const;
  std::vector<std::int64_t> unravel(std::int64_t position) const;

  std::vector<Operand> operands_;
  std::vector<Dimension> dimensions_;  ///< outermost first, merged; never empty
  std::vector<std::size_t> order_;     ///< dimensions of the shape in the order of the walk
  std::vector<std::int64_t> sizes_;    ///< their sizes
  std::size_t rank_ = 0;
  std::int64_t elements_ = 0;
  std::int64_t multiplicity_ = 1;
  bool is_large_ = false;  ///< more than a cache holds
};

template <class Visit>
void TensorWalk::visit(std::int64_t begin, std::int64_t end, Visit&& visit) const {
  if (begin >= end) return;
  Buffers buffers;  // not initialised: only what is gathered is read
  std::vector<std::int64_t> at = unravel(begin);
  const std::int64_t inner = dimensions_.back().size;
  for (std::int64_t position = begin; position < end;) {
    std::int64_t count = std::min(kBlock, end - position);
    // A long row ends a block; short ones are gathered until a block is full.
    const std::int64_t row = inner - at.back();
    if (row >= kBlock / 4) count = std::min(count, row);
    std::array<const std::byte*, kMost> blocks{};
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      blocks[i] = block(i, at, count, buffers.of[i].data());
      if (is_large_ && blocks[i] != buffers.of[i].data())
        fetch(blocks[i] + kAhead,
              std::min(row * operands_[i].bytes - kAhead, count * operands_[i].bytes));
    }
    visit(position, count, blocks);
    position += count;
    at.back() += count;
    for (std::size_t d = dimensions_.size() - 1; d > 0 && at[d] >= dimensions_[d].size; --d) {
      at[d - 1] += at[d] / dimensions_[d].size;
      at[d] %= dimensions_[d].size;
    }
  }
}

}  // namespace lockstep
