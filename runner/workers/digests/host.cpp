// The stand-in of a device's digests (device_digests.h): the "device" is the memory of the process.

#include "base/block_digest.h"
#include "workers/digests/device_digests.h"

extern "C" const char* lockstep_device_digests_1(int /*index*/, const void* data,
                                                 std::uint64_t bytes, std::uint64_t* digests) {
  lockstep::digest_on_host(data, bytes, reinterpret_cast<lockstep::BlockDigest*>(digests));
  return nullptr;
}
