#include "workers/eager/progress.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace lockstep::eager {

Progress::Progress() {
  void* const memory =
      mmap(nullptr, sizeof *ended_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ended_ = new (memory) std::atomic<std::size_t>(0);
}

Progress::Progress(Progress&& other) noexcept : ended_(std::exchange(other.ended_, nullptr)) {}

Progress::~Progress() {
  if (ended_ != nullptr) munmap(ended_, sizeof *ended_);
}

}  // namespace lockstep::eager
