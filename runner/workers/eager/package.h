#pragma once

#include <c10/core/Device.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "program/program.h"
#include "workers/eager/observe.h"
#include "workers/eager/values.h"

// Programs that AOTInductor has compiled into a package, executed without Python.
namespace torch::inductor {
class AOTIModelPackageLoader;
}

namespace lockstep::eager {

/// `mode` of a `run` that executes the package which `before` has.
inline constexpr const char* kPackageMode = "package";

/// A package that does not load: the failure of who made it, and no error of the program.
struct Unloadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A package as the Python worker leaves it in a folder (docs/design/protocol.md, "Packages"):
/// `package.pt2`, native code that is loaded into this process (once, where several folders have
/// the same file), and `package.json`, which says what it takes and returns.
class Package {
 public:
  /// Throws Malformed for a folder without a package, or with one that takes or returns other names
  /// than `program` has; Unloadable where torch cannot load it.
  Package(const std::filesystem::path& folder, const Program& program, c10::Device device);
  ~Package();
  Package(Package&&) = delete;

  /// The outputs, by name, of one call on the inputs in `scope`, without gradients; it may write to
  /// these.  What torch raises passes through.
  NamedValues run(const Scope& scope);

  /// `proof` of the observation, as the package's maker tells it.
  const nlohmann::ordered_json& proof() const { return proof_; }

 private:
  std::vector<std::string> inputs_;  ///< tensors, in order
  nlohmann::ordered_json outputs_;   ///< of each name, in order: its form
  nlohmann::ordered_json proof_;
  std::shared_ptr<torch::inductor::AOTIModelPackageLoader> loader_;
};

}  // namespace lockstep::eager
