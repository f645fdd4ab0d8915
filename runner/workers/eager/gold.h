#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>
#include <vector>

#include "program/program.h"

// Golds: the same program in higher precision, to say which side of a difference is wrong.
//
// fp64      inputs, literals, dtype arguments and the default dtype are float64 (complex128) from
// the
//           start, so that nothing is ever rounded to a narrow dtype.
// perturbed fp64 on inputs that are moved by one unit in the last place first (perturb.h).
// stepwise  each operator is computed in float64 and its results rounded to the dtype that plain
//           eager gave them: the ideal execution of the program as written, casts included.
namespace lockstep::eager {

enum class Mode { plain, fp64, perturbed, stepwise };

/// Whether every tensor is float64 from the start.
inline bool is_wide(Mode mode) { return mode == Mode::fp64 || mode == Mode::perturbed; }

/// Unsupported for a name that is none of "plain", "fp64", "perturbed", "stepwise".
Mode parse_mode(const std::string& name);

/// Calls an operator whose tensors are wide already.  `narrow_default` is the default dtype of the
/// program as written: random factories draw in it and are widened, for a wider dtype would draw
/// other numbers.  Unsupported if the operator cannot be computed in float64.
std::vector<c10::IValue> call_fp64(const c10::OperatorHandle& op, torch::jit::Stack stack,
                                   c10::ScalarType narrow_default);

/// Calls an operator on narrow tensors by way of float64; `plain` is what plain eager returned for
/// the same step.  Mutated arguments are rounded back in place; views are taken as they are, so
/// that what is written through them later is seen.
std::vector<c10::IValue> call_stepwise(const c10::OperatorHandle& op, torch::jit::Stack stack,
                                       const std::vector<c10::IValue>& plain);

/// The context that a gold executes under: fp64 drops `autocast` and `default_dtype`, stepwise
/// cannot have `autocast` (Unsupported).
Context gold_context(Mode mode, Context context);

}  // namespace lockstep::eager
