// The kernel on a device that is none: each of its threads is one of the process, and they wait for
// each other where the kernel says so.  Built as a shared object with the interface of cuda.cu.

#include <barrier>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

struct Place {
  unsigned x = 0;
};
static thread_local Place threadIdx;
static Place blockIdx;
static std::unique_ptr<std::barrier<>> all;
static std::unique_ptr<std::barrier<>> warps[8];
static unsigned long long lanes[256];

#define __global__
#define __device__
#define __shared__ static
static void __syncthreads() { all->arrive_and_wait(); }
static unsigned long long __shfl_down_sync(unsigned, unsigned long long value, unsigned step) {
  const unsigned thread = threadIdx.x, lane = thread % 32;
  lanes[thread] = value;
  warps[thread / 32]->arrive_and_wait();
  const unsigned long long other = lane + step < 32 ? lanes[thread + step] : value;
  warps[thread / 32]->arrive_and_wait();
  return other;
}

#include "workers/digests/device_digests.h"
#include "workers/digests/kernel.h"

extern "C" const char* lockstep_device_digests_1(int, const void* data, std::uint64_t bytes,
                                                 std::uint64_t* digests) {
  all = std::make_unique<std::barrier<>>(lockstep::kDigestThreads);
  for (auto& warp : warps) warp = std::make_unique<std::barrier<>>(32);
  for (blockIdx.x = 0; blockIdx.x < lockstep::digest_blocks(bytes); ++blockIdx.x) {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < lockstep::kDigestThreads; ++i) {
      threads.emplace_back([=] {
        threadIdx.x = i;
        lockstep::digest_on_device(static_cast<const unsigned char*>(data), bytes,
                                   reinterpret_cast<lockstep::BlockDigest*>(digests));
      });
    }
  }
  return nullptr;
}
