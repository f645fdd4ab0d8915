#pragma once

#include <filesystem>
#include <utility>

#include "base/result.h"

namespace lockstep {

/// A directory of this run for tensors, on a memory file system where there is one with room;
/// removed at the end of its life.  What a killed run left behind is removed by the next one.
class Scratch {
 public:
  static Result<Scratch> create();
  Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit Scratch(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace lockstep
