#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace lockstep {

/// The folder, beside a case, of the files that have the elements of its tensors.
inline constexpr const char* kValuesFolder = "values";

/// What such files may have in all, of everything that is read together: bytes.
constexpr std::size_t kMostValueBytes = std::size_t{1} << 30;

/// Whether a text is the name of such a file: 64 hexadecimal digits, its SHA-256, and ".bin".
bool names_values(std::string_view text);

/// The files of values of a suite.  Each is read once, however many instances have it, and stays in
/// memory; together they are bounded.  Threads may share it.
class ValueFiles {
 public:
  explicit ValueFiles(std::size_t most = kMostValueBytes) : most_(most), left_(most) {}

  /// The content of the file `name`, which names_values, beside a case in `folder`.  Refused,
  /// before it is read, where it is no regular file, has more bytes than `bytes` or than may still
  /// be read; and then where it has fewer, or not the digest that its name says.
  Result<std::shared_ptr<const std::string>> read(const std::filesystem::path& folder,
                                                  const std::string& name,
                                                  std::optional<std::size_t> bytes = {});

 private:
  std::mutex mutex_;
  std::size_t most_, left_;
  std::map<std::filesystem::path, std::shared_ptr<const std::string>> files_;
};

/// Where a JSON file lies whose tensors may have files, and what reads these.
struct ValuePlace {
  std::filesystem::path folder;
  std::shared_ptr<ValueFiles> files;  ///< never null
};

/// Writes such files, by their names, beside a case in `folder`.
Result<void> write_values(const std::filesystem::path& folder,
                          const std::map<std::string, std::shared_ptr<const std::string>>& files);

}  // namespace lockstep
