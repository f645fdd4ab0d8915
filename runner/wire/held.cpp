#include "wire/held.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/block_digest.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostHeld = 256;
/// Of all together: 32 characters each.
constexpr std::size_t kMostBlocks = 1 << 16;

std::size_t blocks_of(const HeldStorage& storage) {
  return digest_blocks(storage.file()->bytes().size());
}

void add(HeldStorages& held, const std::shared_ptr<const HeldStorage>& storage) {
  std::size_t blocks = blocks_of(*storage);
  for (const auto& other : held) {
    if (other->file() == storage->file()) return;
    blocks += blocks_of(*other);
  }
  if (held.size() < kMostHeld && blocks <= kMostBlocks) held.push_back(storage);
}

}  // namespace

const std::string& HeldStorage::digests() const {
  if (digests_.empty()) {
    const auto bytes = file_->bytes();
    std::vector<BlockDigest> blocks(digest_blocks(bytes.size()));
    digest_on_host(bytes.data(), bytes.size(), blocks.data());
    for (const BlockDigest& block : blocks)
      fmt::format_to(std::back_inserter(digests_), "{:016x}{:016x}", block.a, block.b);
  }
  return digests_;
}

void add_held(HeldStorages& held, const std::vector<std::shared_ptr<const FileCopy>>& files) {
  for (const auto& file : files) {
    if (file->bytes().size() >= kDigestBlock) add(held, std::make_shared<HeldStorage>(file));
  }
}

void add_held(HeldStorages& held, const HeldStorages& others) {
  for (const auto& storage : others) add(held, storage);
}

Json to_json(const HeldStorages& held) {
  Json all = Json::array();
  for (const auto& storage : held) {
    all.push_back({{"bytes", storage->file()->bytes().size()}, {"digests", storage->digests()}});
  }
  return all;
}

}  // namespace lockstep
