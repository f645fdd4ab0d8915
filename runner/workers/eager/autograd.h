#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "workers/eager/values.h"

namespace lockstep::eager {

/// A `grad` step: one result for each of `wrt`, undefined where `of` does not depend on it.
std::vector<at::Tensor> grad_step(const nlohmann::json& step, const Scope& scope);

/// `backward` of a program: accumulates into the inputs.
void backward(const nlohmann::json& request, const Scope& scope);

}  // namespace lockstep::eager
