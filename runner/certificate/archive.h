#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/lines.h"
#include "base/result.h"

namespace lockstep {

/// The files of an archive by their names: letters, digits and `._-/+@`, relative, at most 100
/// bytes.
using ArchiveFiles = std::map<std::string, std::string>;

/// The name of the file that names all others.
inline constexpr std::string_view kArchiveManifest = "manifest.json";

/// A tar archive (POSIX.1-1988, "ustar") of these files and a manifest with the size and the digest
/// of each. Its bytes depend only on names and contents: it has no times and no owners, and names
/// are sorted. An error for a name that is none of those above.
Result<std::string> write_archive(const ArchiveFiles& files);

/// What an archive may have that is read.
struct ArchiveLimits {
  std::size_t bytes = 256 << 20;
  std::size_t files = 10'000;
  std::size_t manifest = 4 << 20;  ///< bytes
};
inline constexpr ArchiveLimits kArchiveLimits;

/// The files of such an archive, without the manifest.  There is one archive of the same files:
/// whatever write_archive would not have written, to the byte, is an error.  So what the container
/// does not hang on (padding, times, the order) cannot be changed, either.  The digests find what
/// went wrong on the way; whoever writes an archive anew writes them anew.  Nothing is held but the
/// files.
Result<ArchiveFiles> read_archive(const Pieces& pieces);
Result<ArchiveFiles> read_archive(std::string_view bytes);

}  // namespace lockstep
