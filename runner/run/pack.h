#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace lockstep {

/// What a folder with packages has besides them (docs/vendor/packs.md): `cases/`,
/// `expected/known/`, `runner/paths/` and `schemas.json`, as a suite has them, and in `jobs/` what
/// workers left (engine/saved.h).
struct PackInfo {
  std::string lockstep;                ///< version
  std::string made;                    ///< UTC
  Json environment = Json::object();   ///< of the eager worker that made the expected observations
  std::vector<std::string> arguments;  ///< by which it was made
  std::vector<std::string> paths;      ///< that were packed
  std::vector<std::string> items;      ///< ids of the verdicts that it can repeat
  struct LeftOut {
    std::string id, reason;
  };
  std::vector<LeftOut> left_out;  ///< what was selected besides
};

inline constexpr const char* kManifest = "manifest.json";
/// Where a pack has what workers left.
inline constexpr const char* kSavedJobs = "jobs";

/// Refuses a folder that is not empty; makes it if it is missing.
Result<void> begin_pack(const std::filesystem::path& folder);

/// Ends a pack whose files are all there: those that hold the same bytes become one, and the
/// manifest names each with its size and digest.
Result<void> end_pack(const std::filesystem::path& folder, const PackInfo& info);

/// Reads the manifest and looks at every file of the pack.  Errors, all at once: a file that is
/// missing, that the manifest does not have, or that is not as it was packed, and a manifest that
/// was changed.  The digests find what went wrong on the way, and no forgery.
tl::expected<PackInfo, std::vector<Error>> read_pack(const std::filesystem::path& folder);

}  // namespace lockstep
