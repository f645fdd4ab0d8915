#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace lockstep {

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  // Up to 256 bytes come whole; a signal can only interrupt the wait for the first ones.
  while (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
    if (errno == EINTR) continue;
    std::perror("lockstep: getrandom");
    std::abort();
  }
  return bits;
}

}  // namespace lockstep
