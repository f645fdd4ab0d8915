#include <fmt/format.h>

#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "base/files.h"
#include "base/sha256.h"
#include "cases/decode.h"

namespace lockstep {
namespace {

constexpr std::size_t kDigits = 64;
constexpr std::string_view kSuffix = ".bin";

bool names_values(std::string_view name) {
  return name.size() == kDigits + kSuffix.size() && name.ends_with(kSuffix) &&
         name.substr(0, kDigits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The content of a file whose digest has been checked, once in memory however many instances have
/// it; null before.
class CheckedFiles {
 public:
  std::shared_ptr<const std::string> find(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(path);
    return found == files_.end() ? nullptr : found->second.lock();
  }
  void keep(const std::string& path, const std::shared_ptr<const std::string>& bytes) {
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [](const auto& each) { return each.second.expired(); });
    files_[path] = bytes;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const std::string>> files_;
};

/// What an exception may be, as `values` spells it.
constexpr std::array kExceptions = {"nan", "inf", "-inf", "-0.0"};

}  // namespace

void decode_file(Reader& reader, const Node& node, TensorSpec& spec) {
  static CheckedFiles checked;
  const auto name = reader.text(node, "the name of a file in `values/` beside the case");
  if (!name) return;
  if (!names_values(*name)) {
    return reader.mismatch(node, "64 hexadecimal digits, the SHA-256 of the file, and `.bin`",
                           fmt::format("it lies in the folder `{}` beside the case", kValuesFolder));
  }
  const auto bytes = static_cast<std::size_t>(spec.storage_elements * spec.dtype->bytes);
  if (bytes > kLargestFile) {
    reader.error(node.pointer, fmt::format("found a tensor of {} bytes in a file, expected at most "
                                           "{}",
                                           bytes, kLargestFile),
                 "a fill makes large tensors of few characters");
    return;
  }
  const auto& folder = reader.file().folder;
  if (!folder) {
    reader.error(node.pointer, "found `file` in a case that is no file, so nothing lies beside it");
    return;
  }
  const std::string path = (*folder / *name).string();
  auto content = checked.find(path);
  if (content != nullptr && content->size() != bytes) content = nullptr;
  if (content == nullptr) {
    auto read = read_below(*folder, kValuesFolder, *name, bytes);
    if (!read) {
      reader.error(node.pointer, read.error().message,
                   "the file has the bytes of the elements, as `values` has their order");
      return;
    }
    if (const std::string digest = sha256(*read); digest != name->substr(0, kDigits)) {
      reader.error(node.pointer, fmt::format("found a file with the SHA-256 {}, expected {}", digest,
                                             name->substr(0, kDigits)),
                   "it is not the file that the case was written with");
      return;
    }
    content = std::make_shared<const std::string>(std::move(*read));
    checked.keep(path, content);
  }
  spec.fill = FileFill{*folder, *name, std::move(content)};
}

void decode_except(Reader& reader, const Node& node, TensorSpec& spec) {
  if (!reader.object(node, {"nan", "inf", "-inf", "-0.0"})) return;
  if (!spec.dtype->is_floating()) {
    reader.error(node.pointer,
                 fmt::format("found `except` on {}: only floating dtypes have such elements",
                             spec.dtype->name),
                 "", true);
    return;
  }
  std::map<std::uint64_t, ElementBits> places;
  for (const char* word : kExceptions) {
    const auto list = reader.child(node, word);
    if (!list || !reader.list(*list, "a list of places in the storage")) continue;
    const Json spelled = word;
    const auto bits = decode_element(reader, {&spelled, list->pointer}, *spec.dtype);
    for (std::size_t i = 0; i < (*list)->size(); ++i) {
      const Node each = reader.element(*list, i);
      const auto place =
          reader.integer(each, 0, spec.storage_elements - 1, "the place of an element");
      if (!place || !bits) continue;
      if (!places.emplace(static_cast<std::uint64_t>(*place), *bits).second)
        reader.error(each.pointer, fmt::format("found the place {} for the second time", *place));
    }
  }
  spec.except.assign(places.begin(), places.end());
}

}  // namespace lockstep
