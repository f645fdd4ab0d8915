#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "program/program.h"
#include "workers/eager/values.h"

namespace lockstep::eager {

/// A `grad` step: one result for each of `wrt`, undefined where `of` does not depend on it.
std::vector<at::Tensor> grad_step(const GradCall& grad, const Scope& scope);

/// One `backward` of a program: accumulates into the inputs, and frees the graph unless it is to be
/// retained.
void backward(const Backward& request, const Scope& scope, bool retain_graph);

}  // namespace lockstep::eager
