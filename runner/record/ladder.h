#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/record.h"

namespace lockstep {

/// What a run's verdict says of the layer on which a divergence begins.
enum class Divergence {
  none,     ///< it does not diverge
  first,    ///< no layer below it diverges
  further,  ///< one below it does, so that this path only passes it on, as far as can be seen
};

/// The paths of a run as layers: each stands on the path that its file names as `above`, and does
/// all that this one does and more. If a layer diverges and those below it conform, the fault is in
/// what that layer adds. Points into the record.
class Ladder {
 public:
  explicit Ladder(const RunRecord& record);

  /// The paths that have a place, lowest first: by how many layers are below them, then by name.
  /// Empty where no path of the run stands on another one of the run.
  std::span<const std::string> layers() const { return layers_; }
  /// The path, and those below it as far as the files of the run's paths say, lowest first; the
  /// last of them that is known by name only was not a path of the run.
  std::vector<std::string> down_from(const std::string& path) const;
  /// The instances that diverge on some path, in the order of the run.
  const std::vector<std::string>& diverging() const { return diverging_; }
  /// The verdict, or nullptr.
  const Verdict* at(const std::string& instance, const std::string& path) const;
  Divergence divergence(const Verdict& verdict) const;
  /// Whether the path executed the very code that the layer below it did (`code` of the proofs).
  bool same_code(const Verdict& verdict) const;
  /// The lowest layer on which the instance diverges as the verdict does (verdict/fault.h), on the
  /// way down from the verdict's path.
  const std::string& first_diverging(const Verdict& verdict) const;
  /// The layers below the first one that diverges that were not executed or not judged. As long as
  /// there are some, the divergence may begin there.
  std::vector<std::string> unknown_below(const Verdict& verdict) const;
  /// Those below that layer that diverge, but otherwise: in another output, or by another
  /// magnitude.
  std::vector<const Verdict*> otherwise_below(const Verdict& verdict) const;

 private:
  struct Descent {
    const std::string* first = nullptr;
    std::vector<std::string> unknown;
    std::vector<const Verdict*> otherwise;
  };
  Descent descend(const Verdict& verdict) const;

  std::map<std::string, std::string> above_;  ///< by path
  std::vector<std::string> layers_;
  std::vector<std::string> diverging_;
  std::map<std::pair<std::string_view, std::string_view>, const Verdict*> verdicts_;
};

}  // namespace lockstep
