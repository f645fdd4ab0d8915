#pragma once

#include <cstdint>

#include "base/block_digest.h"

// The kernel, in words that nvcc knows, and a stand-in of a device (testdata/emulation.cpp)
// defines.
namespace lockstep {

/// Threads of a thread block, which digests one block of bytes.
constexpr unsigned kDigestThreads = 256;
constexpr unsigned kWarp = 32;

__device__ inline BlockDigest sum_of_warp(BlockDigest sums) {
  for (unsigned step = kWarp / 2; step > 0; step /= 2) {
    sums.a += __shfl_down_sync(0xffffffffU, static_cast<unsigned long long>(sums.a), step);
    sums.b += __shfl_down_sync(0xffffffffU, static_cast<unsigned long long>(sums.b), step);
  }
  return sums;
}

/// Block `blockIdx.x` of `bytes` bytes at `data`, whatever its alignment.
__global__ void digest_on_device(const unsigned char* data, std::uint64_t bytes,
                                 BlockDigest* digests) {
  const std::uint64_t begin = blockIdx.x * kDigestBlock;
  const std::uint64_t left = bytes - begin;
  const std::uint64_t size = left < kDigestBlock ? left : kDigestBlock;
  const unsigned char* const block = data + begin;
  const bool aligned = reinterpret_cast<std::uintptr_t>(block) % 8 == 0;
  BlockDigest sums;
  for (std::uint64_t i = threadIdx.x; i * 8 < size; i += kDigestThreads) {
    const std::uint64_t word = aligned && i * 8 + 8 <= size
                                   ? reinterpret_cast<const std::uint64_t*>(block)[i]
                                   : digest_word(block, size, i);
    const BlockDigest more = digest_of_word(word, i);
    sums.a += more.a;
    sums.b += more.b;
  }
  __shared__ std::uint64_t of_warps[2][kDigestThreads / kWarp];
  sums = sum_of_warp(sums);
  if (threadIdx.x % kWarp == 0) {
    of_warps[0][threadIdx.x / kWarp] = sums.a;
    of_warps[1][threadIdx.x / kWarp] = sums.b;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 1; warp < kDigestThreads / kWarp; ++warp) {
    sums.a += of_warps[0][warp];
    sums.b += of_warps[1][warp];
  }
  digests[blockIdx.x] = digest_of_sums(sums, size);
}

}  // namespace lockstep
