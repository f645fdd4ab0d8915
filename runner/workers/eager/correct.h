#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>
#include <vector>

// Elementary functions that are independent of what is under test. torch's float64 kernels come
// from libraries that err in the last place and differ by CPU. For float64 they are the very
// kernels under test. MPFR
// computes with 128 bits and rounds to float64 once. The error is half a unit in the last place,
// unless 75 more bits do not decide a tie.
namespace lockstep::eager {

/// "MPFR 4.2.0".
std::string correct_by();

/// Whether IEEE 754 itself demands that float64 kernels round the call correctly: sums, products
/// and quotients, and what is exact.
bool is_correct_by_ieee(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

/// Whether the operator computes nothing, so that its results are as good as its operands: casts,
/// copies, moves, selections.
bool moves_values(const c10::OperatorHandle& op);

/// Writes the correctly rounded result over what torch's float64 kernel returned for `stack`, in
/// place: gradients still flow as torch has them.  Elements with an operand that is not finite, or
/// with no finite result, and zeros keep what torch says of them, for these are definitions, not
/// computations.  Nothing happens unless operands and result are float64 and broadcast.  Whether it
/// was done.
bool make_correct(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                  std::vector<c10::IValue>& results);

}  // namespace lockstep::eager
