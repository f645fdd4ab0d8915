#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <unordered_map>

namespace lockstep::eager {

/// Fresh copies of values, with the memory that they share: leaves without gradients, with the
/// strides, the offset and the lazy bits of what they are copies of.
class StorageCopies {
 public:
  c10::IValue of(const c10::IValue& value);

 private:
  at::Tensor of(const at::Tensor& tensor);

  std::unordered_map<const void*, c10::Storage> copies_;  ///< by StorageImpl
};

}  // namespace lockstep::eager
