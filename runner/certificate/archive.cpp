#include "certificate/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

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

std::string manifest_of(const ArchiveFiles& files) {
  Json listed = Json::object();
  for (const auto& [name, bytes] : files)
    listed[name] = {{"bytes", bytes.size()}, {"digest", Digest().add(bytes).hex()}};
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
  const Json listed = Json::parse(manifest, nullptr, false);
  if (!listed.is_object() || !listed.contains("files") || !listed["files"].is_object())
    return fmt::format("{} is not what Lockstep writes", kArchiveManifest);
  const Json& names = listed["files"];
  for (const auto& [name, bytes] : files) {
    if (!names.contains(name)) return fmt::format("the manifest does not have {}", name);
    if (names[name] != Json{{"bytes", bytes.size()}, {"digest", Digest().add(bytes).hex()}})
      return fmt::format("{} is not as it was archived", name);
  }
  for (const auto& [name, entry] : names.items()) {
    if (!files.contains(name)) return fmt::format("{} is missing", one_line(name, 120));
  }
  return fmt::format("{} is not what Lockstep writes", kArchiveManifest);
}

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

Result<ArchiveFiles> read_archive(std::string_view bytes) {
  ArchiveFiles files;
  const auto broken = [&](const std::string& what) { return fail(what, kBroken); };
  std::size_t at = 0;
  while (at + kBlock <= bytes.size() && bytes[at] != '\0') {
    const std::string_view block = bytes.substr(at, kBlock);
    std::string name(block.substr(0, std::min(block.find('\0'), kLongestName)));
    std::size_t size = 0;
    const char* digits = block.data() + kAtSize;
    const auto [end, error] = std::from_chars(digits, digits + kSizeDigits, size, 8);
    at += kBlock;
    if (!is_archived_name(name) || error != std::errc() || end != digits + kSizeDigits ||
        size > bytes.size() - at)
      return broken(fmt::format("found no header of a file at byte {}", at - kBlock));
    if (!files.emplace(name, bytes.substr(at, size)).second)
      return broken(fmt::format("found {} twice", name));
    at = std::min(bytes.size(), at + (size + kBlock - 1) / kBlock * kBlock);
  }
  const auto manifest = files.find(std::string(kArchiveManifest));
  if (manifest == files.end())
    return fail(fmt::format("found no {}, expected an archive that `lockstep certify` wrote",
                            kArchiveManifest));
  const std::string named = std::move(manifest->second);
  files.erase(manifest);
  if (named != manifest_of(files)) return broken(difference(files, named));
  if (written(files) != bytes)
    return broken(
        "the files are there, but the archive is not the one that Lockstep writes of "
        "them");
  return files;
}

}  // namespace lockstep
