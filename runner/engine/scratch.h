#pragma once

#include <filesystem>
#include <utility>

#include "base/result.h"

namespace lockstep {

/// A directory of this run for tensors, on a memory file system where there is one with room;
/// removed at the end of its life.  It is locked as long as it is used: what a killed run left
/// behind is removed by the next one.
class Scratch {
 public:
  static Result<Scratch> create();
  Scratch(Scratch&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();

  const std::filesystem::path& path() const { return path_; }

 private:
  Scratch(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::filesystem::path path_;
  int lock_ = -1;  ///< descriptor whose lock says that the directory is used
};

}  // namespace lockstep
