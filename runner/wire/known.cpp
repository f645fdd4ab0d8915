#include "wire/known.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/block_digest.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostKnown = 256;
/// Of all together: 32 characters each.
constexpr std::size_t kMostBlocks = 1 << 16;

std::size_t blocks_of(const KnownStorage& storage) {
  return digest_blocks(storage.file()->bytes().size());
}

void add(KnownStorages& known, const std::shared_ptr<const KnownStorage>& storage) {
  std::size_t blocks = blocks_of(*storage);
  for (const auto& other : known) {
    if (other->file() == storage->file()) return;
    blocks += blocks_of(*other);
  }
  if (known.size() < kMostKnown && blocks <= kMostBlocks) known.push_back(storage);
}

}  // namespace

const std::string& KnownStorage::digests() const {
  if (digests_.empty()) {
    const auto bytes = file_->bytes();
    std::vector<BlockDigest> blocks(digest_blocks(bytes.size()));
    digest_on_host(bytes.data(), bytes.size(), blocks.data());
    for (const BlockDigest& block : blocks)
      fmt::format_to(std::back_inserter(digests_), "{:016x}{:016x}", block.a, block.b);
  }
  return digests_;
}

void add_known(KnownStorages& known, const std::vector<std::shared_ptr<const FileCopy>>& files) {
  for (const auto& file : files) {
    if (file->bytes().size() >= kDigestBlock) add(known, std::make_shared<KnownStorage>(file));
  }
}

void add_known(KnownStorages& known, const KnownStorages& others) {
  for (const auto& storage : others) add(known, storage);
}

Json to_json(const KnownStorages& known) {
  Json all = Json::array();
  for (const auto& storage : known) {
    all.push_back({{"bytes", storage->file()->bytes().size()}, {"digests", storage->digests()}});
  }
  return all;
}

}  // namespace lockstep
