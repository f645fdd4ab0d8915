#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace lockstep {

/// A storage whose bytes the runner has, so that a worker need not send them (design/protocol.md,
/// "Held storages").
class HeldStorage {
 public:
  explicit HeldStorage(std::shared_ptr<const FileCopy> file) : file_(std::move(file)) {}

  const std::shared_ptr<const FileCopy>& file() const { return file_; }
  /// The digests of its blocks as the wire has them, computed when somebody first asks, which takes
  /// four times as long as a copy (ci/bench/digests/bench.py).  On one thread at a time.
  const std::string& digests() const;

 private:
  std::shared_ptr<const FileCopy> file_;
  mutable std::string digests_;
};

/// Those of one execution, in the order in which its request names them.
using HeldStorages = std::vector<std::shared_ptr<const HeldStorage>>;

/// Adds files of at least one block that are not there yet, as long as the request stays below some
/// MiB.
void add_held(HeldStorages& held, const std::vector<std::shared_ptr<const FileCopy>>& files);
void add_held(HeldStorages& held, const HeldStorages& others);

/// `held` of a `run` message.
Json to_json(const HeldStorages& held);

}  // namespace lockstep
