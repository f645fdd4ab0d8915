// Digests of the blocks of a storage on a CUDA device (device_digests.h): one thread block for
// each.

#include <cuda_runtime.h>

#include "workers/digests/device_digests.h"
#include "workers/digests/kernel.h"

namespace {

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
  if (error == cudaSuccess) error = cudaMalloc(&on_device, blocks * sizeof(lockstep::BlockDigest));
  if (error == cudaSuccess) {
    lockstep::digest_on_device<<<static_cast<unsigned>(blocks), lockstep::kDigestThreads>>>(
        static_cast<const unsigned char*>(data), bytes,
        static_cast<lockstep::BlockDigest*>(on_device));
    error = cudaGetLastError();
    // On the same stream, and done when it returns.
    if (error == cudaSuccess)
      error = cudaMemcpy(digests, on_device, blocks * sizeof(lockstep::BlockDigest),
                         cudaMemcpyDeviceToHost);
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
