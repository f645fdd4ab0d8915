#pragma once

#include <string>

#include "base/result.h"
#include "wire/tensor.h"

namespace lockstep {

/// A tensor as a file that numpy.load reads.
struct NpyFile {
  /// ".npy"; ".bfloat16-bits.npy" for a dtype that numpy lacks, whose elements are then unsigned
  /// integers with the same bits; ".qint8-ints.npy" for the integers of a quantized one.
  std::string extension;
  std::string bytes;
};

/// The tensor's elements in the order of the index, conj and neg resolved.  An Error for one that
/// would make a file of more than 1 GiB, as an expanded view may.
Result<NpyFile> to_npy(const TensorView& view);

}  // namespace lockstep
