#include "judge/numerics/statistics.h"

#include <atomic>
#include <system_error>
#include <thread>

namespace lockstep {
namespace {

/// Elements of a chunk.  Chunks are the same for every number of threads, and so is what comes of
/// adding them up.
constexpr std::int64_t kChunk = std::int64_t{1} << 17;
/// Below this many bytes starting a thread (20 to 50 µs) costs more than it saves.
constexpr std::int64_t kWorthThreads = std::int64_t{1} << 21;

}  // namespace

void PairNumbers::merge(const PairNumbers& later) {
  const auto first = [](std::int64_t& mine, std::int64_t theirs) {
    if (mine < 0) mine = theirs;
  };
  payload_differing += later.payload_differing;
  differing += later.differing;
  unequal += later.unequal;
  nonfinite += later.nonfinite;
  not_close += later.not_close;
  if (later.max_abs > max_abs) {
    max_abs = later.max_abs;
    max_abs_at = later.max_abs_at;
  }
  if (later.max_ulp > max_ulp) {
    max_ulp = later.max_ulp;
    max_ulp_at = later.max_ulp_at;
  }
  max_rel = std::max(max_rel, later.max_rel);
  first(first_payload, later.first_payload);
  first(first_differing, later.first_differing);
  first(first_nonfinite, later.first_nonfinite);
  first(first_not_close, later.first_not_close);
  all_zero = all_zero && later.all_zero;
  all_nan = all_nan && later.all_nan;
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] += later.classes[i];
  for (std::size_t i = 0; i < ulps.size(); ++i) ulps[i] += later.ulps[i];
}

std::size_t chunk_count(std::int64_t elements) {
  return static_cast<std::size_t>(elements / kChunk + (elements % kChunk != 0 ? 1 : 0));
}

void for_chunks(
    std::int64_t elements, std::int64_t bytes_each, int threads,
    const std::function<void(std::size_t chunk, std::int64_t begin, std::int64_t end)>& part) {
  const std::size_t chunks = chunk_count(elements);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t chunk = next++; chunk < chunks; chunk = next++) {
      const std::int64_t begin = static_cast<std::int64_t>(chunk) * kChunk;
      part(chunk, begin, std::min(begin + kChunk, elements));
    }
  };
  if (threads == 0) threads = static_cast<int>(std::min(4u, std::thread::hardware_concurrency()));
  std::vector<std::jthread> helpers;
  if (chunks > 1 && elements >= kWorthThreads / bytes_each) {
    for (int i = 1; i < threads; ++i) {
      // Without another thread (a limit on processes) the work is done all the same.
      try {
        helpers.emplace_back(work);
      } catch (const std::system_error&) {
        break;
      }
    }
  }
  work();
}

PairNumbers compare_pair(const TensorWalk& walk, const Dtype& dtype, const Tolerance& tolerance,
                         const PassOptions& options) {
  const PairKernel kernel = pair_kernel(dtype, options.level.value_or(vector_levels().back()));
  const auto range = [&](std::int64_t begin, std::int64_t end) {
    PairNumbers numbers;
    walk.visit(begin, end, [&](std::int64_t position, std::int64_t count, const auto& blocks) {
      kernel(dtype, blocks[0], blocks[1], static_cast<std::size_t>(count), position, tolerance,
             numbers);
    });
    return numbers;
  };
  PairNumbers total;
  if (chunk_count(walk.elements()) <= 1) {
    total = range(0, walk.elements());
  } else {
    std::vector<PairNumbers> parts(chunk_count(walk.elements()));
    for_chunks(walk.elements(), dtype.bytes, options.threads,
               [&](std::size_t chunk, std::int64_t begin, std::int64_t end) {
                 parts[chunk] = range(begin, end);
               });
    for (const PairNumbers& part : parts) total.merge(part);
  }
  for (std::int64_t* count : {&total.payload_differing, &total.differing, &total.unequal,
                              &total.nonfinite, &total.not_close}) {
    *count *= walk.multiplicity();
  }
  for (std::int64_t& count : total.classes) count *= walk.multiplicity();
  for (std::int64_t& count : total.ulps) count *= walk.multiplicity();
  return total;
}

}  // namespace lockstep
