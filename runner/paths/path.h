#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/json.h"
#include "base/result.h"
#include "paths/declarations.h"
#include "paths/site.h"
#include "policies/policy.h"

namespace lockstep {

/// The only format of path files that is read and written.
inline constexpr int kPathFormat = 2;

/// One way to execute an instance, as its path file declares it (docs/vendor/path-files.md).
struct Path {
  std::string name;
  std::string title;
  Contract contract = Contract::values;
  bool is_default = false;
  /// "eager" or "compiled" for the workers that come with Lockstep; else empty, and `command`
  /// starts the worker.
  std::string worker;
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> devices;  ///< globs
  /// Where it is executed, as far as it is a variant's; `base` is the path of which it is one, and
  /// empty of every other path.
  Site site;
  std::string base;
  /// What it is compared with: eager, executed there.
  Site reference;
  /// Whether a proof of compilation is demanded: the worker compiles, with a backend that does.
  bool compiles = false;
  /// Whether torch's own compiler is on trial, and so its front end, too.
  bool torchs_own = true;
  /// Whether its configuration leaves random numbers to Inductor's generator, which draws others
  /// than eager.
  bool own_random = false;
  /// Whether what it compiles becomes a package of AOTInductor, which the eager worker executes: no
  /// Python is in that process.
  bool packages = false;
  /// The layer below it on the ladder: this path does all that the layer does, and more.  Empty:
  /// none.
  std::string above;
  std::string layer;  ///< what it adds to that one, for people: "AOT autograd"; may be empty
  std::optional<bool> dynamic;     ///< as torch.compile takes it; nothing: torch's automatic
  std::vector<std::string> keeps;  ///< relations that it keeps even where eager breaks them
  Declarations declarations;       ///< what it does not support
  bool added = false;              ///< by the command line, from a file of the user's
  /// The whole file, which the worker gets; `executes` of a path that compiles always says who
  /// executes.
  Json declared;
  std::shared_ptr<const JsonFile> file;  ///< the same with its places, for later diagnostics
};

/// The path that one file declares; what is wrong is added to `diagnostics`.
std::optional<Path> decode_path(const JsonFile& file, Diagnostics& diagnostics);

/// Adds a path and its variants (variants.h) to those that there are; another of the same name is
/// wrong, and not added.
void add_paths(Path path, std::vector<Path>& paths, Diagnostics& diagnostics);

/// Reads `folder/*.json`, more files, and those that the command line added, in the order of the
/// names.  What is wrong is added to `diagnostics`; two paths of the same name are wrong, and so is
/// a ladder that check_ladder refuses.
std::vector<Path> read_paths(const std::filesystem::path& folder,
                             const std::vector<std::filesystem::path>& more,
                             const std::vector<std::filesystem::path>& added,
                             Diagnostics& diagnostics);

/// The name of the path that each stands on (Path::above), by its own; empty: none.
std::map<std::string, std::string> above_of(const std::vector<Path>& paths);

/// A path and those that it stands on as far as `above` says, lowest first; the last of them may be
/// known by its name only.  Nothing is visited twice, whatever a stranger's log says.
std::vector<std::string> down_from(std::string path,
                                   const std::map<std::string, std::string>& above);

/// Says of every path that is above itself, and of one that is above a name that looks like a
/// misspelt path.  Any other name may be of a layer that this suite does without.
void check_ladder(const std::vector<Path>& paths, Diagnostics& diagnostics);

}  // namespace lockstep
