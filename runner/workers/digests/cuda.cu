// Digests of the blocks of a storage on a CUDA device (device_digests.h): one thread block for
// each.

#include <cuda_runtime.h>

#include "base/block_digest.h"
#include "workers/digests/device_digests.h"

namespace {

using lockstep::BlockDigest;

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;

__device__ BlockDigest sum_of_warp(BlockDigest sums) {
  for (unsigned step = kWarp / 2; step > 0; step /= 2) {
    sums.a += __shfl_down_sync(0xffffffffU, static_cast<unsigned long long>(sums.a), step);
    sums.b += __shfl_down_sync(0xffffffffU, static_cast<unsigned long long>(sums.b), step);
  }
  return sums;
}

/// Block `blockIdx.x` of `bytes` bytes at `data`, whatever its alignment.
__global__ void digest(const unsigned char* data, std::uint64_t bytes, BlockDigest* digests) {
  const std::uint64_t begin = blockIdx.x * lockstep::kDigestBlock;
  const std::uint64_t left = bytes - begin;
  const std::uint64_t size = left < lockstep::kDigestBlock ? left : lockstep::kDigestBlock;
  const unsigned char* const block = data + begin;
  const bool aligned = reinterpret_cast<std::uintptr_t>(block) % 8 == 0;
  BlockDigest sums;
  for (std::uint64_t i = threadIdx.x; i * 8 < size; i += kThreads) {
    const std::uint64_t word = aligned && i * 8 + 8 <= size
                                   ? reinterpret_cast<const std::uint64_t*>(block)[i]
                                   : lockstep::digest_word(block, size, i);
    const BlockDigest more = lockstep::digest_of_word(word, i);
    sums.a += more.a;
    sums.b += more.b;
  }
  __shared__ std::uint64_t of_warps[2][kThreads / kWarp];
  sums = sum_of_warp(sums);
  if (threadIdx.x % kWarp == 0) {
    of_warps[0][threadIdx.x / kWarp] = sums.a;
    of_warps[1][threadIdx.x / kWarp] = sums.b;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 1; warp < kThreads / kWarp; ++warp) {
    sums.a += of_warps[0][warp];
    sums.b += of_warps[1][warp];
  }
  digests[blockIdx.x] = lockstep::digest_of_sums(sums, size);
}

cudaError_t digest_blocks(int index, const void* data, std::uint64_t bytes,
                          std::uint64_t* digests) {
  const std::uint64_t blocks = lockstep::digest_blocks(bytes);
  if (blocks == 0) return cudaSuccess;
  if (blocks > 0x7fffffffU) return cudaErrorInvalidValue;  // of a grid
  int before = 0;
  cudaError_t error = cudaGetDevice(&before);
  // Not where it is set already: that, too, may make a context, and for the one before.
  const bool elsewhere = before != index;
  if (error == cudaSuccess && elsewhere) error = cudaSetDevice(index);
  void* on_device = nullptr;
  if (error == cudaSuccess) error = cudaMalloc(&on_device, blocks * sizeof(BlockDigest));
  if (error == cudaSuccess) {
    digest<<<static_cast<unsigned>(blocks), kThreads>>>(
        static_cast<const unsigned char*>(data), bytes, static_cast<BlockDigest*>(on_device));
    error = cudaGetLastError();
    // On the same stream, and done when it returns.
    if (error == cudaSuccess)
      error = cudaMemcpy(digests, on_device, blocks * sizeof(BlockDigest), cudaMemcpyDeviceToHost);
  }
  cudaFree(on_device);
  if (elsewhere) cudaSetDevice(before);
  return error;
}

}  // namespace

extern "C" const char* lockstep_device_digests_1(int index, const void* data, std::uint64_t bytes,
                                                 std::uint64_t* digests) {
  const cudaError_t error = digest_blocks(index, data, bytes, digests);
  if (error == cudaSuccess) return nullptr;
  cudaGetLastError();  // nobody else is to find it
  return cudaGetErrorString(error);
}
