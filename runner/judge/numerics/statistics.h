#pragma once

#include <functional>
#include <optional>

#include "judge/numerics/kernels.h"
#include "judge/numerics/walk.h"

namespace lockstep {

/// How a pass is run; the defaults are for everybody but tests and benchmarks.
struct PassOptions {
  /// Threads at most; small tensors take one.  0: as many as the machine has, up to four.
  int threads = 0;
  /// Empty: the best that the machine has.
  std::optional<VectorLevel> level;
};

/// Compares the first two views of the walk, both of that dtype, in one pass over their memory. The
/// result depends neither on the number of threads nor on the level.
PairNumbers compare_pair(const TensorWalk& walk, const Dtype& dtype, const Tolerance& tolerance,
                         const PassOptions& options = {});

/// Runs `part(chunk, begin, end)` over [0, elements) in chunks of a fixed size, on several threads
/// where that pays.
void for_chunks(
    std::int64_t elements, std::int64_t bytes_each, int threads,
    const std::function<void(std::size_t chunk, std::int64_t begin, std::int64_t end)>& part);

/// How many chunks for_chunks makes.
std::size_t chunk_count(std::int64_t elements);

}  // namespace lockstep
