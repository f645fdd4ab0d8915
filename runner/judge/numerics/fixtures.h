#pragma once

#include <bit>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "judge/numerics/numbers.h"
#include "wire/tensor.h"

// For tests only: tensors that own their bytes.

namespace lockstep::fixtures {

/// A tensor with bytes of its own.
struct Tensor {
  std::shared_ptr<std::vector<std::byte>> bytes;
  TensorView view;

  operator const TensorView&() const { return view; }
  operator DataValue() const { return view; }
};

inline std::vector<std::int64_t> contiguous(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<std::int64_t>(shape[d], 1);
  }
  return strides;
}

inline int next_storage() {
  static int storage = 1000;
  return storage++;
}

/// Keeps the bytes of every tensor to the end of the tests, so that a view may outlive its Tensor.
inline void keep(std::shared_ptr<std::vector<std::byte>> bytes) {
  static std::vector<std::shared_ptr<std::vector<std::byte>>> all;
  if (bytes->size() < 4096) all.push_back(std::move(bytes));
}

/// A contiguous tensor of zero bytes.
inline Tensor zeros(std::string_view dtype, std::vector<std::int64_t> shape) {
  Tensor tensor;
  tensor.view.dtype = find_dtype(dtype);
  tensor.view.shape = std::move(shape);
  tensor.view.strides = contiguous(tensor.view.shape);
  tensor.view.storage = next_storage();
  const auto size = static_cast<std::size_t>(tensor.view.elements() * tensor.view.dtype->bytes);
  tensor.bytes = std::make_shared<std::vector<std::byte>>(size);
  tensor.view.bytes = *tensor.bytes;
  keep(tensor.bytes);
  return tensor;
}

inline void set_bits(const Tensor& tensor, std::int64_t element, std::uint64_t bits) {
  const auto bytes = static_cast<std::size_t>(number_dtype(*tensor.view.dtype).bytes);
  std::memcpy(tensor.bytes->data() + static_cast<std::size_t>(element) * bytes, &bits, bytes);
}

/// Bits of a number in a dtype.
inline std::uint64_t encode(const Dtype& dtype, double value) {
  if (dtype.is_floating()) return encode_float(dtype, value);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

/// A one-dimensional tensor of these values (of the parts of complex elements, one after the
/// other).
inline Tensor tensor(std::string_view dtype, const std::vector<double>& values) {
  const Dtype& type = *find_dtype(dtype);
  const auto count = static_cast<std::int64_t>(values.size()) / (type.is_complex() ? 2 : 1);
  Tensor result = zeros(dtype, {count});
  for (std::size_t i = 0; i < values.size(); ++i) {
    set_bits(result, static_cast<std::int64_t>(i), encode(number_dtype(type), values[i]));
  }
  return result;
}

inline Tensor reshaped(Tensor tensor, std::vector<std::int64_t> shape) {
  tensor.view.shape = std::move(shape);
  tensor.view.strides = contiguous(tensor.view.shape);
  return tensor;
}

}  // namespace lockstep::fixtures
