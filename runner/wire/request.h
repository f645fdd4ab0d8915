#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "wire/held.h"

// The messages to workers (docs/design/protocol.md); wire/message.h has their answers.
namespace lockstep {

/// A storage that an execution reads: a file of the machine that the worker is on.
struct StorageFile {
  std::filesystem::path file;
  std::uint64_t bytes = 0;
};

/// The first message to a worker, but for `scratch`, which the engine adds.
struct HelloRequest {
  int threads = 1;                             ///< intra-op threads of every execution
  std::optional<std::filesystem::path> cache;  ///< of compilations; none: none may outlive the run
  std::int64_t memory_bytes = 0;               ///< address space of an execution; 0: no limit
  std::int64_t file_bytes = 0;                 ///< its largest file; 0: no limit
  std::vector<std::filesystem::path> libraries;  ///< to be loaded before anything runs
  std::vector<std::string> modules;  ///< Python modules of the run's paths, to be reported on
  std::vector<std::string> own_modules = {};  ///< to be imported before anything runs
  /// By the kind of a device, the shared object that digests storages there.
  std::map<std::string, std::filesystem::path> digests = {};
};

Json to_json(const HelloRequest& request);

/// What to execute; which number it has, where it reads and where it writes is the engine's.
struct ExecutionRequest {
  std::string instance = {};  ///< for people
  Json path;                  ///< the path file, whole
  std::string device;
  std::string mode;  ///< "plain", or a gold (docs/design/protocol.md): "fp64", "stepwise_noise", …
  int repeat = 1;
  std::uint64_t seed = 0;
  /// Whether the last repetition, if there are several, has other seeds than the others.
  bool reseed = false;
  int threads = 0;  ///< intra-op threads; 0: those of the hello
  Json program;
  Json calls;
};

/// A `run` without what run_message adds.
Json to_json(const ExecutionRequest& request);

/// The `run` message: `request` is what `to_json` made of an ExecutionRequest, and nothing in it
/// can put something else in the place of what the engine says.  `before`: where the part before it
/// wrote; empty for the first one.  `held`: of a worker that can tell what of these it need not
/// send; null: it cannot.
Json run_message(std::int64_t run, const Json& request, const std::vector<StorageFile>& storages,
                 const std::filesystem::path& out, const std::filesystem::path& before,
                 const HeldStorages* held = nullptr);

/// Several runs, each as run_message makes it, for one child of a worker that offers this.
Json batch_message(const std::vector<Json>& runs);

/// The last message to a worker.
Json stop_message();

}  // namespace lockstep
