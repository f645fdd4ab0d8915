#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

// What plain eager rounds before it computes.  An operator of tensors of one narrow dtype rounds
// its result; but before that it has brought its operands together: tensors of other dtypes are
// cast to the common one, and numbers are rounded, to the common dtype or to the wider one in which
// the kernel computes (opmath: float32 for 16 bits).  A gold that leaves this out certifies results
// that eager does not have: bfloat16 -1.703125 + 1.7 is 0 in eager.
namespace lockstep::eager {

/// The precision of a number once it has reached a kernel's arithmetic.
enum class NumberPrecision {
  given,   ///< as Python has it, float64
  opmath,  ///< at::toOpMathType of the common dtype
  dtype,   ///< the common dtype
};

/// How the kernel of that kind of device takes the number that is this argument (its index in the
/// schema).  A table in rounding.cpp has what differs from the rule; gold_sweep_test.cpp holds it
/// against eager on the CPU, for CUDA it is read from torch's kernels.
NumberPrecision number_precision(const c10::OperatorHandle& op, std::size_t argument,
                                 c10::DeviceType device);

/// Whether the operator's kernels for 16-bit dtypes overflow and cancel in float32 between their
/// steps, so that they are followed there instead of in float64.
bool computes_in_opmath(const c10::OperatorHandle& op);

/// Whether the result is a matter of the dtype (the next number, the greatest one), so that there
/// is nothing to be computed in a wider one.
bool is_of_its_dtype(const c10::OperatorHandle& op);

/// The operands of a pointwise operator as its kernel takes them: the same stack with tensors cast
/// to the common dtype and numbers rounded.  Bools, integers among integers, outputs (arguments
/// that are written, unless they are read as well) and any other operator's stack stay as they are.
torch::jit::Stack operands_of_kernel(const c10::OperatorHandle& op, torch::jit::Stack stack);

}  // namespace lockstep::eager
