#pragma once

#include "wire/tensor.h"

namespace lockstep {

/// How far two tensors are apart.
struct Distance {
  double greatest = 0;  ///< |b − a|; infinity where only one is a finite number, or a NaN is new
  double scale = 0;     ///< greatest |a| that is finite

  /// As a fraction of the numbers themselves.
  double relative() const { return scale > 0 ? greatest / scale : greatest; }
};

/// The distance of two tensors of one shape and dtype; of any others it is infinite.  Complex
/// elements count by their parts.
Distance distance(const TensorView& a, const TensorView& b);

}  // namespace lockstep
