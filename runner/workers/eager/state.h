#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/StorageImpl.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workers/eager/observe.h"

// What a call leaves behind in the process, beside its results.
namespace lockstep::eager {

/// The state of the default random generator of a device: a tensor of bytes.
at::Tensor generator_state(c10::Device device);
void set_generator_state(c10::Device device, const at::Tensor& state);

/// `state` of an observation (docs/design/protocol.md): the random generators of the CPU and of
/// `device`, and the modes, as they are now.
nlohmann::ordered_json observe_state(c10::Device device);

/// The versions that autograd counts of the inputs of a call: who keeps one for its backward learns
/// by them that it was written to since.  Not of those that share memory: views of one tensor share
/// its version, and these are no views.
class Versions {
 public:
  explicit Versions(const NamedValues& inputs);

  /// The inputs of which it is another by now.
  std::vector<std::string> counted() const;

 private:
  std::vector<std::pair<std::string, at::Tensor>> tensors_;
  std::vector<std::int64_t> before_;
};

/// The memory of what calls were given and returned, which nobody should keep once the caller has
/// let go of it.
class Memory {
 public:
  /// Adds a call.
  void note(const NamedValues& inputs, const NamedValues& outputs);

  /// Adds `kept` to the state of every call of `runs`, once their values are let go of.
  void settle(nlohmann::ordered_json& runs) const;

 private:
  using Weak = c10::weak_intrusive_ptr<c10::StorageImpl>;
  std::vector<std::vector<std::pair<std::string, Weak>>> calls_;

  void add(const std::string& name, const c10::IValue& value);
};

}  // namespace lockstep::eager
