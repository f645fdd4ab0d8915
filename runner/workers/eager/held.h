#pragma once

#include <c10/core/Storage.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/block_digest.h"

// What of a storage the runner has already (docs/design/protocol.md, "Held storages").
namespace lockstep::eager {

/// By the kind of a device, the shared object that digests storages there (workers/digests/).
using DigestLibraries = std::map<std::string, std::string>;

/// Of each block of a storage.
using Digests = std::vector<BlockDigest>;

/// A storage that another one is like, and the blocks in which it differs.
struct Likeness {
  nlohmann::ordered_json same;  ///< {"held": 0} or {"storage": 3}
  std::vector<std::uint64_t> blocks;
};

/// The storages whose bytes the runner has: those that a request names, and those that its
/// observation has described so far.
class HeldStorages {
 public:
  HeldStorages() = default;
  /// `held` of a request; null: nothing is digested.  Throws Malformed.
  HeldStorages(const nlohmann::json& held, const DigestLibraries& libraries);

  /// The digests of a storage whose device has done what was asked of it; nothing where they are
  /// not worth it (less than a block) or cannot be had, which standard error says once.
  std::optional<Digests> digest(const c10::Storage& storage) const;
  /// That of which most is the same; nothing where more than half of each differs.
  std::optional<Likeness> most_alike(std::int64_t bytes, const Digests& digests) const;
  /// Adds storage `index` of the observation.
  void add(int index, std::int64_t bytes, Digests digests);

 private:
  struct Held {
    nlohmann::ordered_json name;
    std::int64_t bytes = 0;
    Digests digests;
  };
  bool digests_ = false;
  DigestLibraries libraries_;
  std::vector<Held> held_;
};

}  // namespace lockstep::eager
