#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lockstep {

/// What may be read of a file as a whole where nobody says otherwise: bytes.
constexpr std::size_t kLargestFile = 64 << 20;

/// The bytes of a whole regular file.  An Error for anything else (a named pipe would hang, a
/// device may never end) and, before it is read, for one of more than `most` bytes.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t most = kLargestFile);

/// The bytes of the regular file `name` in `below`, a folder of `folder`.  For names that a
/// stranger wrote: neither of the two is followed where it is a link, so that nothing outside of
/// `folder` is read.  Errors as those of read_file; they name the file from `below` on.
Result<std::string> read_below(const std::filesystem::path& folder, const std::string& below,
                               const std::string& name, std::size_t most = kLargestFile);

/// A regular file from its beginning, a piece at a time, so that a long one takes no memory.
class FilePieces {
 public:
  /// Errors as those of read_file.
  static Result<FilePieces> open(const std::filesystem::path& path, std::size_t most);
  FilePieces(FilePieces&& other) noexcept;
  FilePieces& operator=(FilePieces&&) = delete;
  ~FilePieces();

  /// The next bytes, which stay until the next call; empty: there are no more.
  Result<std::string_view> next();

 private:
  FilePieces(int fd, std::string name, std::size_t most);
  int fd_;
  std::string name_;
  std::size_t most_, read_ = 0;
  std::string buffer_;
};

/// The last `most` bytes of a regular file, as it is now, and whether there are more before them.
/// For a stranger's file: a named pipe in its place does not hang, and a huge file costs no memory.
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

/// The bytes that a file had when it was opened, in memory of this process.  What a stranger wrote
/// he may shorten or write again at any time: a mapping of the file would be SIGBUS then, or other
/// numbers for the second look than for the first.  A copy takes the memory twice until the file is
/// removed, and about 0.4 s for 1 GiB, which judging it takes many times over; holes of the file
/// take neither.
class FileCopy {
 public:
  /// An Error if it is no regular file, changes while it is read, or is larger than the free
  /// memory.
  static Result<std::shared_ptr<const FileCopy>> open(const std::filesystem::path& path);

  /// A part of a file to come, in the place of what is there.
  struct Patch {
    std::size_t at = 0;
    std::span<const std::byte> bytes;
  };
  /// A copy of `like` with patches applied, all of which lie in it.  An Error where it does not fit
  /// the free memory.
  static Result<std::shared_ptr<const FileCopy>> patched(std::span<const std::byte> like,
                                                         const std::vector<Patch>& patches);

  FileCopy(const FileCopy&) = delete;
  FileCopy& operator=(const FileCopy&) = delete;
  ~FileCopy();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  FileCopy(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  /// Memory for so many bytes, of which `used` will be written.
  static Result<std::shared_ptr<FileCopy>> make(std::size_t size, std::size_t used,
                                                const std::string& name);
  std::byte* data_;
  std::size_t size_;
};

}  // namespace lockstep
