#pragma once

#include <cstdint>

namespace lockstep {

/// 64 bits that nobody can compute in advance: the kernel's.  Not by std::random_device, which
/// needs glibc 2.36 where libstdc++ is linked statically.
std::uint64_t random_bits();

}  // namespace lockstep
