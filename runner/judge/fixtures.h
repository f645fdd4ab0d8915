#pragma once

#include <bit>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "judge/judge.h"
#include "judge/numbers.h"

// For tests only: tensors that own their bytes, and observations made of them.

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

inline Observation returned(std::vector<CallResult> calls, int repetitions = 2) {
  Observation observation;
  observation.outcome = Outcome::returned;
  for (int i = 0; i < repetitions; ++i) observation.repetitions.push_back(calls);
  observation.stage = "run";
  observation.proof = {{"graphs", 1}};
  return observation;
}

inline Observation returned(const DataValue& y) {
  return returned({CallResult{{{"y", y}}, {}, {}}});
}

/// What differs from one execution to the next.
inline Observation two_runs(const DataValue& first, const DataValue& second) {
  Observation observation = returned(first);
  observation.repetitions[1][0].outputs[0].second = second;
  return observation;
}

inline Observation raised(std::string class_name, std::string message, std::string kind = "error") {
  Observation observation;
  observation.outcome = Outcome::raised;
  observation.error =
      RaisedError{"run", std::move(class_name), std::move(message), {}, std::move(kind)};
  return observation;
}

inline Observation ended(Outcome outcome, int signal = 0) {
  Observation observation;
  observation.outcome = outcome;
  observation.signal = signal;
  return observation;
}

/// Judges two observations under one policy for everything.
inline Verdict judge_under(const Observation& eager, const Observation& compiled,
                           std::string_view policy) {
  JudgeRequest request;
  request.eager = &eager;
  request.compiled = &compiled;
  request.policy_of = [&](std::string_view) { return *parse_policy(policy); };
  return judge(request);
}

}  // namespace lockstep::fixtures
