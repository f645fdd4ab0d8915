#pragma once

#include <map>
#include <string>
#include <string_view>

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

/// The files of such an archive, without the manifest. The same files give the same archive: any
/// byte that write_archive would not have written is an error. So what the container
/// does not hang on (padding, times, the order) cannot be changed, either. The digests find damage.
/// They do not find forgery: a forger writes new ones.
Result<ArchiveFiles> read_archive(std::string_view bytes);

}  // namespace lockstep
