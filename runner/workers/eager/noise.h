#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

// Noise of an execution: what errors as small as any implementation's make of a program's results.
// Eager's own error is one sample of it, which may happen to be 0; several more say what anybody
// may be held to.  The technique is Monte Carlo arithmetic (Parker 1997; random rounding of
// CESTAC, Vignes 1993).
namespace lockstep::eager {

/// One sample.  Its result depends only on its number and on the order of the calls.
class Noise {
 public:
  enum class Of {
    /// The rounding of each step's result to its dtype: to one of the two neighbours, by chance.
    rounding,
    /// The kernels, which compute 16 bits in float32: the result of each step is moved by
    /// 64 units of float32 before it is rounded.  A kernel's error, of about one, turns one element
    /// in thousands; these turn enough of them for a few samples to show what becomes of it.
    /// Results of float32 are rounded by chance.
    kernels,
  };

  Noise(Of of, std::uint64_t sample) : of_(of), sample_(sample) {}

  /// `wide` in a dtype.  What that dtype holds exactly stays: the result of a selection, a move, an
  /// exact sum.  Of float64, which has nothing wider, what float32 holds stays, and anything else
  /// moves by a unit.  Integers and bools are cast.  The gradient is widened.
  at::Tensor round(const at::Tensor& wide, c10::ScalarType to);

  /// `tensor` in another floating dtype.  No kernel errs in a cast, but a compiler may leave it
  /// out.
  at::Tensor cast(const at::Tensor& tensor, c10::ScalarType to);

  /// The tensor in the wider dtype, exact.  The gradient is rounded like a result.
  at::Tensor widen(const at::Tensor& narrow, c10::ScalarType to);

  /// An operand of a step that adds up many elements, each moved by one unit of the dtype in which
  /// the kernel adds, for partial sums are rounded there.
  at::Tensor move(const at::Tensor& wide, c10::ScalarType of_sums);

 private:
  std::uint64_t next() { return (sample_ << 32) + ++calls_; }

  Of of_;
  std::uint64_t sample_;
  std::uint64_t calls_ = 0;
};

/// Whether the dtype (of float64: float32) holds every number of `wide`, so that a step whose
/// result it is was exact.
bool holds_exactly(c10::ScalarType to, const at::Tensor& wide);

/// Calls `visit` for every number of a floating or complex tensor, the parts one by one.
void each_number(const at::Tensor& tensor, const std::function<void(double)>& visit);

}  // namespace lockstep::eager
