#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "explain/knobs.h"
#include "explain/trials.h"
#include "record/explanation.h"

namespace lockstep {

/// The verdict to explain, and the tools for it.
struct ExplainRequest {
  std::string id;  ///< of the verdict
  std::shared_ptr<const Case> declared;
  /// The layers of the ladder down from the verdict's path, lowest first; it is the last of them.
  std::vector<Path> layers;
  KnobTable table;
  std::string torch;                   ///< "2.13.0+cpu"
  const Registry* registry = nullptr;  ///< of the operators
  std::filesystem::path scratch;       ///< of torch's bisector; empty: it is not asked
  int threads = 1;                     ///< where neither the case nor a path says how many
};

/// Says who did it: executes the case on every layer, takes its program apart on the first that
/// diverges, and tries the knobs.  What there is no time for is left out, and `open` says so.  The
/// same request gives the same explanation, but for seconds and what time ran out for.
Explanation explain(const ExplainRequest& request, Trials& trials);

}  // namespace lockstep
