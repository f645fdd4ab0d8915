#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep {

/// The bytes of a whole file.
Result<std::string> read_file(const std::filesystem::path& path);

/// Writes a file so that a reader (or a crash) sees either the old or the new one: another name
/// first, then rename.  A symbolic link stays one, and what it names is written; what is there and
/// is no regular file (a device, a pipe) is opened and written as it is.
Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);

/// A file mapped for reading; unmapped at the end of its life.  Empty files map to an empty span.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  const std::byte* data_;
  std::size_t size_;
};

}  // namespace lockstep
