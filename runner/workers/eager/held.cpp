#include "workers/eager/held.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "workers/eager/errors.h"

namespace lockstep::eager {
namespace {

using nlohmann::json;

/// As in workers/digests/device_digests.h, which no worker is built with: any object that exports
/// it will do.
using DeviceDigests = const char* (*)(int, const void*, std::uint64_t, std::uint64_t*);

Digests digests_from(const std::string& text, std::int64_t bytes) {
  constexpr std::size_t kDigits = 16;
  Digests digests(digest_blocks(static_cast<std::uint64_t>(bytes)));
  bool whole = text.size() == digests.size() * 2 * kDigits;
  const auto number = [&](std::size_t i) {
    std::uint64_t value = 0;
    const char* const begin = text.data() + i * kDigits;
    const auto [end, error] = std::from_chars(begin, begin + kDigits, value, 16);
    whole = whole && error == std::errc() && end == begin + kDigits;
    return value;
  };
  for (std::size_t i = 0; whole && i < digests.size(); ++i)
    digests[i] = {number(2 * i), number(2 * i + 1)};
  if (!whole) throw Malformed("`held` has not two times 16 hexadecimal digits for each block");
  return digests;
}

void complain(const std::string& kind, const std::string& why) {
  std::fprintf(stderr, "tensors on %s are sent whole, for they cannot be digested there: %s\n",
               kind.c_str(), why.c_str());
}

/// Of one kind of device; it is asked for once in a process, and what it lacks is said once.
DeviceDigests load(const std::string& kind, const std::string& file) {
  static std::map<std::string, DeviceDigests> loaded;
  const auto [entry, is_new] = loaded.emplace(kind, nullptr);
  if (!is_new) return entry->second;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const symbol = library == nullptr ? nullptr : dlsym(library, "lockstep_device_digests_1");
  if (symbol == nullptr) complain(kind, dlerror());
  return entry->second = reinterpret_cast<DeviceDigests>(symbol);
}

}  // namespace

HeldStorages::HeldStorages(const json& held, const DigestLibraries& libraries)
    : digests_(!held.is_null()), libraries_(libraries) {
  if (!digests_) return;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto bytes = held.at(i).at("bytes").get<std::int64_t>();
    if (bytes < 0) throw Malformed("a held storage has a negative size");
    held_.push_back(
        {{{"held", i}}, bytes, digests_from(held.at(i).at("digests").get<std::string>(), bytes)});
  }
}

std::optional<Digests> HeldStorages::digest(const c10::Storage& storage) const {
  const std::uint64_t bytes = storage.nbytes();
  if (!digests_ || bytes < kDigestBlock || storage.data() == nullptr) return std::nullopt;
  const c10::Device device = storage.device();
  const std::string kind = c10::DeviceTypeName(device.type(), /*lower_case=*/true);
  const auto library = libraries_.find(kind);
  if (library == libraries_.end()) return std::nullopt;
  const DeviceDigests digest_there = load(kind, library->second);
  if (digest_there == nullptr) return std::nullopt;
  Digests digests(digest_blocks(bytes));
  static_assert(sizeof(BlockDigest) == 2 * sizeof(std::uint64_t));
  const char* const why = digest_there(device.has_index() ? device.index() : 0, storage.data(),
                                       bytes, reinterpret_cast<std::uint64_t*>(digests.data()));
  if (why == nullptr) return digests;
  complain(kind, why);
  return std::nullopt;
}

std::optional<Likeness> HeldStorages::most_alike(std::int64_t bytes, const Digests& digests) const {
  std::optional<Likeness> best;
  std::size_t least = digests.size() / 2 + 1;  // of blocks that differ, to be beaten
  for (const Held& held : held_) {
    if (held.bytes != bytes) continue;
    Likeness likeness{held.name, {}};
    for (std::size_t i = 0; i < digests.size() && likeness.blocks.size() < least; ++i) {
      if (!(held.digests[i] == digests[i])) likeness.blocks.push_back(i);
    }
    if (likeness.blocks.size() >= least) continue;
    least = likeness.blocks.size();
    best = std::move(likeness);
    if (least == 0) break;
  }
  return best;
}

void HeldStorages::add(int index, std::int64_t bytes, Digests digests) {
  held_.push_back({{{"storage", index}}, bytes, std::move(digests)});
}

}  // namespace lockstep::eager
