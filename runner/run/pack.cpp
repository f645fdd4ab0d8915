#include "run/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "base/digest.h"
#include "base/files.h"
#include "base/reader.h"
#include "base/text.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostErrors = 20;
constexpr const char* kCopyAnew = "nothing of it is executed; copy the pack anew, or make it again";

/// A file of a pack.
struct Packed {
  std::uint64_t bytes = 0;
  std::string digest;
  bool operator==(const Packed&) const = default;
};

Result<Packed> look_at(const fs::path& file) {
  auto pieces = FilePieces::open(file, SIZE_MAX);  // a package may have any size, and is not held
  if (!pieces) return tl::unexpected(pieces.error());
  Digest digest;
  std::uint64_t bytes = 0;
  while (true) {
    const auto piece = pieces->next();
    if (!piece) return tl::unexpected(piece.error());
    if (piece->empty()) return Packed{bytes, digest.hex()};
    bytes += piece->size();
    digest.add(*piece);
  }
}

/// The regular files below a folder by their names from there; anything else but a folder is an
/// error.
std::map<std::string, fs::path> files_of(const fs::path& folder, std::vector<Error>& errors) {
  std::map<std::string, fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().lexically_relative(folder).generic_string();
    if (entry->is_symlink(error) ||
        (!entry->is_directory(error) && !entry->is_regular_file(error))) {
      errors.push_back({fmt::format("found {}, which is no regular file", one_line(name)),
                        "a pack has regular files and folders alone"});
    } else if (entry->is_regular_file(error)) {
      files[name] = entry->path();
    }
  }
  if (error)
    errors.push_back({fmt::format("cannot read {}: {}", folder.string(), error.message()), ""});
  return files;
}

std::string digest_of(const Json& manifest) { return Digest().add(manifest.dump()).hex(); }

std::vector<std::string> texts(Reader& reader, const Node& root, const char* key) {
  const auto node = reader.required(root, key, "a list");
  return node ? reader.texts(*node, "a list of strings") : std::vector<std::string>();
}

/// A manifest and its files; nothing if it is wrong.
std::optional<PackInfo> decode(const JsonFile& file, std::map<std::string, Packed>& files,
                               Diagnostics& diagnostics) {
  Reader reader(file, diagnostics);
  const Node root{&file.root, ""};
  if (!reader.object(root, {"format", "lockstep", "made", "environment", "arguments", "paths",
                            "items", "left_out", "files", "digest"}))
    return std::nullopt;
  reader.format(root);
  PackInfo info;
  const auto text = [&](const Node& of, const char* key) {
    const auto node = reader.required(of, key, "a string");
    return node ? reader.text(*node).value_or("") : std::string();
  };
  info.lockstep = text(root, "lockstep");
  info.made = text(root, "made");
  info.arguments = texts(reader, root, "arguments");
  info.paths = texts(reader, root, "paths");
  info.items = texts(reader, root, "items");
  if (const auto node = reader.required(root, "environment", "an object")) {
    if ((*node)->is_object()) {
      info.environment = **node;
    } else {
      reader.mismatch(*node, "an object");
    }
  }
  if (const auto list = reader.required(root, "left_out", "a list");
      list && reader.list(*list, "a list of objects")) {
    for (std::size_t i = 0; i < (*list)->size(); ++i) {
      const Node each = reader.element(*list, i);
      if (reader.object(each, {"id", "reason"}))
        info.left_out.push_back({text(each, "id"), text(each, "reason")});
    }
  }
  if (const auto node = reader.required(root, "files", "an object")) {
    if (!(*node)->is_object()) reader.mismatch(*node, "an object of files by name");
    for (const auto& [name, value] : (*node)->items()) {
      const Node each{&value, child_pointer(node->pointer, name)};
      if (!reader.object(each, {"bytes", "digest"})) continue;
      const auto bytes = reader.required(each, "bytes", "a size");
      if (!bytes) continue;
      const auto size = reader.integer(*bytes, 0, INT64_MAX, "a size in bytes");
      files[name] = {static_cast<std::uint64_t>(size.value_or(0)), text(each, "digest")};
    }
  }
  if (reader.failed()) return std::nullopt;
  Json without = file.root;
  without.erase("digest");
  if (text(root, "digest") != digest_of(without)) {
    reader.error("/digest", "found a manifest that is not as it was written", kCopyAnew);
    return std::nullopt;
  }
  return info;
}

}  // namespace

Result<void> begin_pack(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) &&
      (!fs::is_directory(folder, error) || !fs::is_empty(folder, error)))
    return fail(
        fmt::format("found {}, expected a folder that is empty or not there", folder.string()),
        "a pack is never written over another one");
  fs::create_directories(folder, error);
  if (error) return fail(fmt::format("cannot make {}: {}", folder.string(), error.message()));
  return {};
}

Result<void> end_pack(const fs::path& folder, const PackInfo& info) {
  std::vector<Error> errors;
  Json files = Json::object();
  std::map<std::string, fs::path> by_content;
  for (const auto& [name, file] : files_of(folder, errors)) {
    const auto packed = look_at(file);
    if (!packed) return tl::unexpected(packed.error());
    files[name] = {{"bytes", packed->bytes}, {"digest", packed->digest}};
    const auto [same, is_new] =
        by_content.emplace(fmt::format("{}-{}", packed->bytes, packed->digest), file);
    if (is_new) continue;
    const fs::path link = file.string() + ".link";
    std::error_code error;  // where there are no hard links, there are two files
    fs::create_hard_link(same->second, link, error);
    if (!error) fs::rename(link, file, error);
    fs::remove(link, error);
  }
  if (!errors.empty()) return tl::unexpected(errors.front());
  Json left_out = Json::array();
  for (const PackInfo::LeftOut& each : info.left_out)
    left_out.push_back({{"id", each.id}, {"reason", each.reason}});
  Json manifest = {{"format", 1},
                   {"lockstep", info.lockstep},
                   {"made", info.made},
                   {"environment", info.environment},
                   {"arguments", info.arguments},
                   {"paths", info.paths},
                   {"items", info.items},
                   {"left_out", std::move(left_out)},
                   {"files", std::move(files)}};
  manifest["digest"] = digest_of(manifest);
  return write_file(folder / kManifest, manifest.dump(1) + "\n");
}

tl::expected<PackInfo, std::vector<Error>> read_pack(const fs::path& folder) {
  std::vector<Error> errors;
  std::error_code error;
  if (!fs::is_regular_file(folder / kManifest, error)) {
    errors.push_back({fmt::format("found no {} in {}", kManifest, folder.string()),
                      "`lockstep pack DIR SELECT` makes a pack; one without a manifest was not "
                      "finished, or not copied whole"});
    return tl::unexpected(std::move(errors));
  }
  Diagnostics diagnostics;
  std::optional<PackInfo> info;
  std::map<std::string, Packed> wanted;
  const std::string shown = (folder / kManifest).string();
  if (const auto file = read_json(folder / kManifest, shown, diagnostics))
    info = decode(*file, wanted, diagnostics);
  for (const Diagnostic& each : diagnostics) errors.push_back({to_string(each), ""});
  if (!info) return tl::unexpected(std::move(errors));
  std::map<std::string, fs::path> files = files_of(folder, errors);
  files.erase(kManifest);
  for (const auto& [name, packed] : wanted) {
    const auto file = files.find(name);
    if (file == files.end()) {
      errors.push_back({fmt::format("{} is missing", one_line(name)), kCopyAnew});
      continue;
    }
    const auto found = look_at(file->second);
    if (!found) {
      errors.push_back(found.error());
    } else if (*found != packed) {
      errors.push_back(
          {fmt::format("{} is not as it was packed: found {} bytes with the digest {}, expected {} "
                       "with {}",
                       one_line(name), found->bytes, found->digest, packed.bytes,
                       one_line(packed.digest, 40)),
           kCopyAnew});
    }
    files.erase(file);
  }
  for (const auto& [name, file] : files)
    errors.push_back({fmt::format("found {}, which the manifest does not have", one_line(name)),
                      "remove it, if it is yours; a pack is what was packed and nothing else"});
  if (errors.empty()) return std::move(*info);
  if (errors.size() > kMostErrors) {
    const std::size_t more = errors.size() - kMostErrors;
    errors.resize(kMostErrors);
    errors.push_back({fmt::format("{} more files are not as they were packed", more), ""});
  }
  return tl::unexpected(std::move(errors));
}

}  // namespace lockstep
