#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <nlohmann/json.hpp>

// What a call leaves behind in the process, beside its results.
namespace lockstep::eager {

/// The state of the default random generator of a device: a tensor of bytes.
at::Tensor generator_state(c10::Device device);
void set_generator_state(c10::Device device, const at::Tensor& state);

/// `state` of an observation (docs/design/protocol.md): the random generators of the CPU and of
/// `device`, and the modes, as they are now.
nlohmann::ordered_json observe_state(c10::Device device);

}  // namespace lockstep::eager
