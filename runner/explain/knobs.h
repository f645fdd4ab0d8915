#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "paths/path.h"

namespace lockstep {

/// A documented setting of torch's that may end a divergence: what it changes of a path.
struct Knob {
  std::string name;                   ///< as torch calls it, as far as it can be a name of ours
  std::string title;                  ///< one line for people
  std::string link;                   ///< where it is documented or discussed; may be empty
  std::string torch;                  ///< the releases that have it, such as ">=2.14"; empty: all
  std::vector<std::string> backends;  ///< of torch.compile, for which it is one
  Json config = Json::object();       ///< as in a path file
  std::optional<bool> dynamic;
  /// Has Inductor call torch's own kernels for the accused operators, without decompositions and
  /// lowerings (`fall_back` of a path).
  bool fall_back = false;

  bool operator==(const Knob&) const = default;
};

/// The parts of a backend that torch's bisector can leave out, in the order in which they are
/// tried.
struct BisectedBackend {
  std::string backend;
  std::vector<std::string> subsystems;
};

/// What a file of knobs says (docs/model/explain.md), in its order.
struct KnobTable {
  std::vector<Knob> knobs;
  std::vector<BisectedBackend> bisected;
};

/// Decodes one; what is wrong is added to `diagnostics`.
KnobTable decode_knobs(const JsonFile& file, Diagnostics& diagnostics);
/// The same of a file.
KnobTable read_knobs(const std::filesystem::path& file, Diagnostics& diagnostics);

/// Why a knob has nothing to say of a path under this torch: another backend, another release, the
/// path sets it already.  Empty: it can be tried.
std::string why_not(const Knob& knob, const Path& path, const std::string& torch,
                    const std::vector<std::string>& operators);

/// The path with the knob's setting; its name stays.  `operators`: the accused ones,
/// "aten::exp.default".
Path with_knob(const Path& path, const Knob& knob, const std::vector<std::string>& operators);

}  // namespace lockstep
