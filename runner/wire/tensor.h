#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace lockstep {

/// How the integers of a quantized tensor stand for numbers: (integer - zero_point) * scale.
struct Quantizer {
  std::string scheme;  ///< "per_tensor_affine", "per_channel_affine", ...
  std::vector<double> scales;
  std::vector<std::int64_t> zero_points;
  std::int64_t axis = 0;
};

/// A tensor as a view on the raw bytes of a storage.  Owns nothing: the bytes belong to the
/// Observation (or the input set) it came from. Every element lies inside `bytes`; whoever makes a
/// view has checked that.
struct TensorView {
  const Dtype* dtype = nullptr;
  std::vector<std::int64_t> shape;
  /// In elements, one for each dimension; 0 where expanded.  Torch has no negative strides.
  std::vector<std::int64_t> strides;
  /// In elements, from the start of the storage.
  std::int64_t offset = 0;
  std::span<const std::byte> bytes;
  /// Views with the same index share memory.
  int storage = 0;
  std::string device = "cpu";
  std::string layout = "strided";
  bool requires_grad = false;
  /// The stored values are to be conjugated / negated when read.
  bool conj = false;
  bool neg = false;
  std::optional<Quantizer> quantizer;
  /// The name of the input that this very object is.
  std::optional<std::string> is;

  /// Number of logical elements; 1 for a zero-dimensional tensor.
  std::int64_t elements() const {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    return count;
  }
};

/// A list of results; each element is a value of its own, under the name of the list and its index.
struct ListOf {
  std::size_t size = 0;
  bool operator==(const ListOf&) const = default;
};

/// A result that is not a tensor.
using ScalarValue = std::variant<std::monostate, bool, std::int64_t, double, std::complex<double>,
                                 std::string, ListOf>;

/// An input, output or gradient.
using DataValue = std::variant<ScalarValue, TensorView>;

/// "float16[2, 3]", "int 4", "a list of 2".
std::string describe(const DataValue& value);

/// Whether every element of the view lies inside `bytes`, computed without overflow; sizes and
/// strides must not be negative.
bool fits_storage(const TensorView& view);

}  // namespace lockstep
