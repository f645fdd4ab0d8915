#include "base/value_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"

namespace lockstep {
namespace {

constexpr std::size_t kDigits = 64;
constexpr std::string_view kSuffix = ".bin";

}  // namespace

bool names_values(std::string_view text) {
  return text.size() == kDigits + kSuffix.size() && text.ends_with(kSuffix) &&
         text.substr(0, kDigits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::shared_ptr<const std::string>> ValueFiles::read(const std::filesystem::path& folder,
                                                            const std::string& name,
                                                            std::optional<std::size_t> bytes) {
  const std::string below = fmt::format("{}/{}", kValuesFolder, name);
  const auto other_size = [&](std::size_t size) {
    return fail(
        fmt::format("found {} of {} bytes, expected {}", below, grouped(size), grouped(*bytes)),
        "it has the elements of the storage one after the other, little-endian");
  };
  if (bytes && *bytes > kLargestFile) {
    return fail(fmt::format("found a file of {} bytes, expected at most {}", grouped(*bytes),
                            grouped(kLargestFile)),
                "a fill makes large tensors of few characters");
  }
  const std::lock_guard lock(mutex_);
  if (const auto kept = files_.find(folder / below); kept != files_.end()) {
    if (bytes && kept->second->size() != *bytes) return other_size(kept->second->size());
    return kept->second;
  }
  if (bytes && *bytes > left_) {
    return fail(fmt::format("found a file of {} bytes, expected at most {}: all files of values "
                            "together have at most {}",
                            grouped(*bytes), grouped(left_), grouped(most_)),
                "make some of the tensors by a fill, or run fewer cases together");
  }
  auto content =
      read_below(folder, kValuesFolder, name, bytes.value_or(std::min(kLargestFile, left_)));
  if (!content)
    return fail(content.error().message,
                fmt::format("the file lies in the folder `{}` beside the case", kValuesFolder));
  if (bytes && content->size() != *bytes) return other_size(content->size());
  if (const std::string digest = sha256(*content); digest != name.substr(0, kDigits)) {
    return fail(
        fmt::format("found {} with the SHA-256 {}, expected the one in its name", below, digest),
        "it is not the file that the case was written with");
  }
  left_ -= content->size();
  return files_[folder / below] = std::make_shared<const std::string>(std::move(*content));
}

Result<void> write_values(const std::filesystem::path& folder,
                          const std::map<std::string, std::shared_ptr<const std::string>>& files) {
  if (files.empty()) return {};
  const std::filesystem::path values = folder / kValuesFolder;
  std::error_code error;
  std::filesystem::create_directories(values, error);
  for (const auto& [name, bytes] : files) {
    if (auto written = write_file(values / name, *bytes); !written) return written;
  }
  return {};
}

}  // namespace lockstep
