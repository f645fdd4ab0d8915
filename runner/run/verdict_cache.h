#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "verdict/verdict.h"

namespace lockstep {

/// Verdicts of earlier runs, each under a key that names all that decides it (`run --reuse`): one
/// file of JSON lines for each setting (what all verdicts of a run have in common: torch, machine,
/// workers, judge, limits), one line for each verdict, added when it is there.  A line that a
/// killed run left half is no verdict; of several with one key the last counts.
class VerdictCache {
 public:
  /// `setting` is a digest.  The folder is made; an error where that cannot be.
  static Result<VerdictCache> open(const std::filesystem::path& folder, const std::string& setting);

  /// Takes out the verdict that was kept under the key, with `reused` saying when the run began
  /// that made it; nothing if there is none.
  std::optional<Verdict> take(const std::string& key);
  /// Keeps a verdict that is worth_keeping. An error if it cannot be written. After that nothing is
  /// kept, and no further error is given.
  Result<void> keep(const std::string& key, const Verdict& verdict, const std::string& started);

  /// Whether the same would be found again: nothing died, nothing disagrees with itself, and
  /// nothing was taken from here.
  static bool worth_keeping(const Verdict& verdict);

 private:
  std::filesystem::path file_;
  bool writes_ = true;
  std::unordered_map<std::string, Verdict> verdicts_;
};

}  // namespace lockstep
