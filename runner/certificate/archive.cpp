#include "certificate/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/bounded_json.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"

namespace lockstep {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kLongestName = 100;
constexpr std::size_t kAtSize = 124, kSizeDigits = 11;
constexpr const char* kBroken = "fetch it anew; what was changed on the way proves nothing";

bool is_archived_name(std::string_view name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+@";
  return !name.empty() && name.size() <= kLongestName &&
         name.find_first_not_of(kLetters) == std::string_view::npos && name.front() != '/' &&
         name.back() != '/' && name.find("..") == std::string_view::npos &&
         name.find("//") == std::string_view::npos;
}

/// The header of a regular file that anybody may read, of nobody and of no time.
std::string header(const std::string& name, std::size_t size) {
  std::string block(kBlock, '\0');
  const auto put = [&](std::size_t at, std::string_view text) {
    block.replace(at, text.size(), text);
  };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(kAtSize, fmt::format("{:011o}", size));
  put(136, "00000000000");
  put(148, "        ");  // what the sum of the header counts in its own place
  put(156, "0");
  put(257, std::string_view("ustar\00000", 8));
  put(329, "0000000");
  put(337, "0000000");
  unsigned sum = 0;
  for (const char byte : block) sum += static_cast<unsigned char>(byte);
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return block;
}

Json entry_of(const std::string& bytes) {
  return {{"bytes", bytes.size()}, {"digest", Digest().add(bytes).hex()}};
}

std::string manifest_of(const ArchiveFiles& files) {
  Json listed = Json::object();
  for (const auto& [name, bytes] : files)  // none twice, so that none need be looked for
    listed.get_ref<Json::object_t&>().emplace_back(name, entry_of(bytes));
  return Json{{"format", 1}, {"files", std::move(listed)}}.dump(1) + "\n";
}

void append(std::string& archive, const std::string& name, std::string_view bytes) {
  archive += header(name, bytes.size());
  archive += bytes;
  archive.resize((archive.size() + kBlock - 1) / kBlock * kBlock, '\0');
}

std::string written(const ArchiveFiles& files) {
  std::string archive;
  append(archive, std::string(kArchiveManifest), manifest_of(files));  // what is read first
  for (const auto& [name, bytes] : files) append(archive, name, bytes);
  archive.resize(archive.size() + 2 * kBlock, '\0');
  return archive;
}

/// What is wrong with a file that the manifest names otherwise, for people; the archive is refused
/// in any case.
std::string difference(const ArchiveFiles& files, const std::string& manifest) {
  const auto listed = parse_bounded_json(manifest, {kArchiveLimits.manifest, 4, 1 << 17});
  if (!listed || !listed->is_object() || !listed->contains("files") ||
      !(*listed)["files"].is_object())
    return fmt::format("{} is not what Lockstep writes", kArchiveManifest);
  std::map<std::string, Json> names;
  for (const auto& [name, entry] : (*listed)["files"].items()) names.emplace(name, entry);
  for (const auto& [name, bytes] : files) {
    const auto entry = names.find(name);
    if (entry == names.end()) return fmt::format("the manifest does not have {}", name);
    if (entry->second != entry_of(bytes)) return fmt::format("{} is not as it was archived", name);
  }
  for (const auto& [name, entry] : names) {
    if (!files.contains(name)) return fmt::format("{} is missing", one_line(name, 120));
  }
  return fmt::format("{} is not what Lockstep writes", kArchiveManifest);
}

/// Reads an archive from its beginning to its end.
class Unarchiving {
 public:
  explicit Unarchiving(const Pieces& pieces) : pieces_(pieces) {}

  Result<ArchiveFiles> read() {
    while (const auto block = take(kBlock)) {
      if (block->front() == '\0') {
        // It ends with two empty blocks, and there is nothing behind them.
        as_written_ =
            as_written_ && *block + take(kBlock).value_or("") == std::string(2 * kBlock, '\0');
        as_written_ = as_written_ && !take(1);
        ended_ = true;
        break;
      }
      if (auto taken = take_file(*block); !taken) return tl::unexpected(taken.error());
    }
    if (!trouble_.message.empty()) return tl::unexpected(trouble_);
    return whole();
  }

 private:
  static tl::unexpected<Error> broken(std::string what) { return fail(std::move(what), kBroken); }

  /// The next bytes; nothing where there are fewer.
  std::optional<std::string> take(std::size_t size) {
    std::string bytes;
    while (bytes.size() < size && trouble_.message.empty()) {
      if (piece_.empty()) {
        auto more = pieces_();
        if (!more) trouble_ = more.error();
        if (!more || more->empty()) return std::nullopt;
        piece_ = *more;
      }
      const std::string_view part = piece_.substr(0, size - bytes.size());
      bytes += part;
      piece_.remove_prefix(part.size());
      at_ += part.size();
      if (at_ > kArchiveLimits.bytes) trouble_ = limit("bytes", kArchiveLimits.bytes);
    }
    return trouble_.message.empty() ? std::optional(std::move(bytes)) : std::nullopt;
  }

  static Error limit(std::string_view what, std::size_t most) {
    return {fmt::format("found more than {} {}, the most that an archive may have", grouped(most),
                        what),
            "no certificate of Lockstep has that much: ask where it comes from"};
  }

  Result<void> take_file(const std::string& block) {
    const std::size_t begin = at_ - kBlock;
    std::string name = block.substr(0, std::min(block.find('\0'), kLongestName));
    std::size_t size = 0;
    const char* digits = block.data() + kAtSize;
    const auto [end, error] = std::from_chars(digits, digits + kSizeDigits, size, 8);
    const auto no_header = [&] {
      return broken(fmt::format("found no header of a file at byte {}", begin));
    };
    if (!is_archived_name(name) || error != std::errc() || end != digits + kSizeDigits)
      return no_header();
    if (size > kArchiveLimits.bytes) return tl::unexpected(limit("bytes", kArchiveLimits.bytes));
    auto bytes = take(size);
    if (!bytes) return trouble_.message.empty() ? no_header() : tl::unexpected(trouble_);
    const auto padding = take((kBlock - size % kBlock) % kBlock);
    const bool is_manifest = name == kArchiveManifest;
    as_written_ = as_written_ && block == header(name, size) && padding &&
                  padding->find_first_not_of('\0') == std::string::npos &&
                  is_manifest == last_.empty() &&
                  (is_manifest || last_ == kArchiveManifest || last_ < name);
    last_ = name;
    if (!files_.emplace(std::move(name), std::move(*bytes)).second)
      return broken(fmt::format("found {} twice", last_));
    if (files_.size() > kArchiveLimits.files)
      return tl::unexpected(limit("files", kArchiveLimits.files));
    return {};
  }

  Result<ArchiveFiles> whole() {
    const auto manifest = files_.find(std::string(kArchiveManifest));
    if (manifest == files_.end())
      return fail(fmt::format("found no {}, expected an archive that `lockstep certify` wrote",
                              kArchiveManifest));
    const std::string named = std::move(manifest->second);
    files_.erase(manifest);
    if (named != manifest_of(files_)) return broken(difference(files_, named));
    if (!as_written_ || !ended_)
      return broken(
          "the files are there, but the archive is not the one that Lockstep writes of them");
    return std::move(files_);
  }

  const Pieces& pieces_;
  std::string_view piece_;
  std::size_t at_ = 0;
  bool as_written_ = true;  ///< to the byte what write_archive writes
  bool ended_ = false;
  std::string last_;
  Error trouble_;
  ArchiveFiles files_;
};

}  // namespace

Result<std::string> write_archive(const ArchiveFiles& files) {
  for (const auto& [name, bytes] : files) {
    if (!is_archived_name(name) || name == kArchiveManifest)
      return fail(
          fmt::format("found the name {}, expected letters, digits and `._-/+@`, at most "
                      "{} of them",
                      one_line(name, 120), kLongestName));
  }
  return written(files);
}

Result<ArchiveFiles> read_archive(const Pieces& pieces) { return Unarchiving(pieces).read(); }

Result<ArchiveFiles> read_archive(std::string_view bytes) { return read_archive(pieces_of(bytes)); }

}  // namespace lockstep
