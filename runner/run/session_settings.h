#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/local.h"

namespace lockstep {

/// Files besides those of the suite; absolute.
struct OwnFiles {
  std::vector<std::filesystem::path> case_files;  ///< folders of them, too
  std::vector<std::filesystem::path> path_files, known_files;
  bool expectations = true;  ///< read them
  /// Shared objects that add operators or kernels to torch.
  std::vector<std::filesystem::path> libraries;
  /// Python modules that add operators to torch: names, or absolute paths that end with ".py".
  std::vector<std::string> modules;
};

/// How fast, and with how much of the machine, instances are executed.
struct Pace {
  std::size_t jobs = 0;  ///< executions at a time; 0: three for two cores
  StageLimits limits;
  int threads = 0;        ///< of each execution; 0: those of the level
  double memory_gib = 0;  ///< address space of one execution; 0: what the machine has

  /// `jobs`, or as many as this machine has room for.
  std::size_t executions() const;
  std::int64_t memory_bytes() const { return static_cast<std::int64_t>(memory_gib * (1 << 30)); }
};

/// From what a session is made.
struct SessionSettings {
  std::filesystem::path home;  ///< of Lockstep: the folder that has runner/paths and runner/workers
  std::filesystem::path root;  ///< of the suite: the folder that has cases/, may be `home`, too
  OwnFiles files;
  /// The dump of the operators that was made with the eager worker; need not be there.
  std::filesystem::path schemas;
  std::filesystem::path eager;  ///< the executable of the eager worker
  /// A Python file that makes it where it is not there yet; empty: nobody does.
  std::filesystem::path provider;
  /// By the kind of a device, the shared object that digests storages there (workers/digests/).
  std::map<std::string, std::filesystem::path> digests;
  /// The CUDA runtime that tells of the devices; empty: the one that the eager worker has loaded.
  std::filesystem::path cuda_runtime;
  std::string python = "python3";  ///< of the compiled worker
  /// The sockets of resident workers, which stand in for compiled ones (engine/warm.h); empty: none
  /// may.
  std::filesystem::path residents;
  std::string launcher = "ci/lockstep";  ///< how people call Lockstep: words of a shell
  /// Of plans that are made before a worker has said which devices there are; none: the CPU.
  std::vector<std::string> devices;
  Pace pace;
  /// Where compilers keep what later runs can use; empty: their caches live as long as the session.
  std::filesystem::path compiler_cache;
  int eager_batch = 1;  ///< executions for the CPU that one child of the eager worker takes
  std::filesystem::path
      save_jobs;  ///< what jobs left is saved there (engine/local.h); empty: nowhere
  std::filesystem::path saved_jobs;  ///< what they left in another run is taken from there
};

/// Which CUDA runtime to ask first; `eager` is the environment of the eager worker's hello.
inline std::filesystem::path cuda_runtime_of(const SessionSettings& settings, const Json& eager) {
  return settings.cuda_runtime.empty() ? std::filesystem::path(eager.value("cudart", std::string()))
                                       : settings.cuda_runtime;
}

}  // namespace lockstep
