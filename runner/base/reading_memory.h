#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <functional>
#include <string>

#include "base/result.h"

namespace lockstep {

/// How much memory a process may take that reads what strangers wrote, in bytes: 512 MiB, or what
/// LOCKSTEP_READING_MIB says.
std::size_t reading_memory();

/// Keeps this process within reading_memory() as long as it lives: whatever the limits on files let
/// through, std::bad_alloc is thrown beyond it.  A build that AddressSanitizer watches has no such
/// limit, for its own memory would count.
class ReadingMemory {
 public:
  ReadingMemory();
  ReadingMemory(const ReadingMemory&) = delete;
  ReadingMemory& operator=(const ReadingMemory&) = delete;
  ~ReadingMemory() { lift(); }

  /// Whether there is a limit.
  bool holds() const { return holds_; }

  /// Ends it: what is executed from now on was believed.
  void lift();

  /// What to say where it did not suffice.
  static Error exceeded();

 private:
  rlimit before_{};
  bool holds_ = false;
};

}  // namespace lockstep
