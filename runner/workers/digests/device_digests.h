#pragma once

#include <cstdint>

// The interface of a shared object that digests storages on their device: one for each kind of
// device (docs/start/gpu.md). Plain C, so that Python can call it, too.

extern "C" {

// Whatever the rest of the object hides.
#pragma GCC visibility push(default)

/// Writes the digest of each block of `bytes` bytes at `data`, an address on device number `index`
/// of its kind, to `digests` in the memory of the process: two words a block (base/block_digest.h).
/// What was asked of the device before is done: the caller has waited for it.  Null, or why there
/// are no digests: a text that lives until the next call.
const char* lockstep_device_digests_1(int index, const void* data, std::uint64_t bytes,
                                      std::uint64_t* digests);

#pragma GCC visibility pop

/// Its type; the number in its name is that of this interface.
using lockstep_device_digests_t = const char* (*)(int, const void*, std::uint64_t, std::uint64_t*);
}
