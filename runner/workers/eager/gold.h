#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string>
#include <vector>

#include "base/gold.h"
#include "program/program.h"
#include "workers/eager/noise.h"

// Golds: the same program in higher precision, to say which side of a difference is wrong.
//
// fp64      inputs, literals, dtype arguments and the default dtype are float64 (complex128) from
// the
//           start, so that nothing is ever rounded to a narrow dtype.
// mpfr      fp64 whose elementary functions are rounded correctly (correct.h).
// perturbed fp64 on inputs that are moved by one unit in the last place first (perturb.h).
// stepwise  each operator is computed in float64 from the operands that its kernel computes with
//           (rounding.h), and its results are rounded to the dtype that plain eager gave them: the
//           ideal execution of the program as written, casts included.
//
// And what errors as small as any implementation's make of these two (noise.h), in several samples:
//
// fp64_noise      stepwise, each result rounded up or down by chance.
// stepwise_noise  stepwise, each result moved by the error of a kernel before it is rounded.
namespace lockstep::eager {

/// What an execution computes: a gold, or the plain program.
using Mode = std::optional<Gold>;
constexpr Mode kPlain = std::nullopt;
constexpr const char* kPlainMode = "plain";

/// Whether every tensor is float64 from the start.
inline bool is_wide(Mode mode) { return mode && info(*mode).wide; }

/// Whether results have the dtypes of plain eager, which is executed beside it.
inline bool is_narrow(Mode mode) { return mode && !info(*mode).wide; }

inline bool is_noise(Mode mode) { return mode && info(*mode).samples; }

/// How many samples there are of each execution.  With one more, the chance that the next is the
/// furthest falls from 1/8 to 1/9; what a judge allows beside is said at its checks.
constexpr int kNoiseSamples = 8;

/// Unsupported for a name that none of them has.
Mode parse_mode(const std::string& name);

/// What plain eager did at a step that a gold cannot redo alone: a random operator, or
/// `view.dtype`.
struct PlainStep {
  /// Whether it took numbers from a generator: dropout without training takes none.
  bool drew = false;
  std::vector<c10::IValue> results;  ///< of a draw, out of reach of later writes
  /// Of a dropout that drew, instead: ones like its operand, and the generators as it found them.
  at::Tensor ones;
  std::vector<at::Tensor> generators;
  /// The dtype whose bits were seen as another's.
  c10::ScalarType viewed = c10::ScalarType::Undefined;
};

/// Whether a gold must know what plain eager did there.
bool asks_plain(const c10::OperatorHandle& op);

/// The same of a step's operator; Unsupported for one that this torch lacks.
bool asks_plain(const Step& step);

/// The same of any step, those in blocks and sub-programs too, and whether one decides by elements.
/// A gold then does what plain eager did.
bool asks_plain(const std::vector<Step>& steps);

/// Calls such an operator as plain eager does, and notes what it did.
std::vector<c10::IValue> call_plain(const c10::OperatorHandle& op, torch::jit::Stack stack,
                                    c10::Device device, PlainStep& plain);

/// Whether the operator writes into the argument.  Batch and instance norm update their running
/// statistics, and most of their schemas do not say so.
bool is_written(const c10::Argument& argument);

/// Calls an operator whose tensors are wide already; `plain` is what plain eager did, if the gold
/// must know: a wider dtype would draw other numbers, and has other bits. A cast of NaN or of a
/// number out of range to integers is undefined. It gives 0, and 1 in the perturbed gold, so that
/// results that depend on it differ. Unsupported if the operator cannot be
/// computed in float64.
std::vector<c10::IValue> call_fp64(const c10::OperatorHandle& op, torch::jit::Stack stack,
                                   const PlainStep* plain, Mode mode);

/// Calls an operator on narrow tensors by way of float64; `plain` is what plain eager returned for
/// the same step.  Mutated arguments are rounded back in place; views are taken as they are, so
/// that what is written through them later is seen.  `noise` is that of a sample, or null.
std::vector<c10::IValue> call_stepwise(const c10::OperatorHandle& op, torch::jit::Stack stack,
                                       const std::vector<c10::IValue>& plain, const PlainStep* step,
                                       Noise* noise = nullptr);

/// The context that a block of a gold executes under: fp64 drops `autocast`, and its default dtype
/// is float64.
Context gold_context(Mode mode, Context context);

}  // namespace lockstep::eager
