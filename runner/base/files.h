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

/// The last `most` bytes of a regular file, as it is now, and whether there are more before them.
/// For what a stranger wrote: a named pipe in its place does not hang, nor a huge one cost memory.
struct FileEnd {
  std::string bytes;
  bool cut = false;
};
Result<FileEnd> read_end_of_file(const std::filesystem::path& path, std::size_t most);

/// The files of a folder and of those below it whose names end with `extension` (".json"), sorted;
/// none where it cannot be read.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               std::string_view extension);

/// Writes a file so that a reader (or a crash) sees either the old or the new one: another name
/// first, then rename.  A symbolic link stays one, and what it names is written; what is there and
/// is no regular file (a device, a pipe) is opened and written as it is.
Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);

/// A file mapped for reading; unmapped at the end of its life.  Empty files map to an empty span.
/// One below 1 MiB is a copy: whoever shortens it later changes nothing.  To read what a larger one
/// has lost since it was mapped is SIGBUS.
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
