#include "workers/eager/observe.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <fstream>
#include <vector>

#include "workers/eager/errors.h"
#include "workers/eager/names.h"
#include "workers/eager/quantized.h"
#include "workers/eager/values.h"

namespace lockstep::eager {

using nlohmann::ordered_json;

ordered_json Observer::call(const NamedValues& outputs, const NamedValues& inputs,
                            const NamedValues& grads) {
  written_.clear();
  input_names_.clear();
  for (const auto& [name, value] : inputs) {
    if (value.isTensor()) input_names_.emplace(value.toTensor().unsafeGetTensorImpl(), name);
  }
  const auto describe_all = [&](const NamedValues& values, bool identify) {
    ordered_json described = ordered_json::object();
    for (const auto& [name, value] : values) {
      described[name] = describe(name, value);
      if (!identify || !value.isTensor()) continue;
      const auto same = input_names_.find(value.toTensor().unsafeGetTensorImpl());
      if (same != input_names_.end()) described[name]["is"] = same->second;
    }
    return described;
  };
  return {{"outputs", describe_all(outputs, true)},
          {"inputs", describe_all(inputs, false)},
          {"grads", describe_all(grads, true)}};
}

ordered_json Observer::describe(const std::string& name, const c10::IValue& value) {
  if (value.isTensor()) {
    return value.toTensor().defined() ? describe_tensor(value.toTensor()) : ordered_json(nullptr);
  }
  if (value.isList() || value.isTuple()) {
    ordered_json list = ordered_json::array();
    const auto items = value.isTuple() ? value.toTupleRef().elements().vec() : value.toList().vec();
    for (const c10::IValue& item : items) list.push_back(describe(name, item));
    return list;
  }
  const bool has_place = value.isInt() || !(value.isUnsigned() || value.isDevice());
  if (auto scalar = to_json(value); scalar && has_place) return *scalar;
  throw Unsupported("`" + name + "` is a " + value.tagKind() + ", not a tensor or a number");
}

ordered_json Observer::describe_tensor(const at::Tensor& tensor) {
  if (tensor.layout() != c10::kStrided || tensor.is_nested()) {
    throw Unsupported("layout " + (tensor.is_nested() ? "nested" : layout_name(tensor.layout())));
  }
  ordered_json view = {{"storage", write(tensor)},
                       {"dtype", dtype_name(tensor.scalar_type())},
                       {"shape", tensor.sizes().vec()},
                       {"strides", tensor.strides().vec()},
                       {"offset", tensor.storage_offset()},
                       {"device", tensor.device().str()},
                       {"layout", "strided"},
                       {"requires_grad", tensor.requires_grad()},
                       {"conj", tensor.is_conj()},
                       {"neg", tensor.is_neg()}};
  if (tensor.is_quantized()) view["quantizer"] = describe_quantizer(tensor);
  return view;
}

int Observer::write(const at::Tensor& tensor) {
  if (!tensor.has_storage()) throw Unsupported("a result without a storage");
  const c10::Storage& storage = tensor.storage();
  const auto [entry, is_new] =
      written_.emplace(storage.unsafeGetStorageImpl(), static_cast<int>(storages_.size()));
  if (!is_new) return entry->second;

  const auto bytes = static_cast<std::int64_t>(storage.nbytes());
  at::Tensor raw;
  std::vector<char> zeros;
  const void* data = storage.data();
  if (tensor._is_zerotensor()) {  // it has a size and no bytes, and reads as zeros
    zeros.resize(static_cast<std::size_t>(bytes));
    data = zeros.data();
  } else if (tensor.device() != c10::kCPU) {
    raw = at::empty({0}, at::device(tensor.device()).dtype(at::kByte));
    raw = raw.set_(storage, 0, {bytes}, {1}).cpu();
    data = raw.const_data_ptr();
  }
  // Meta tensors have a size and no bytes.
  if (bytes > 0 && data == nullptr) throw Unsupported("a result without data");
  const std::string name = std::to_string(entry->second);
  std::ofstream file(folder_ / name, std::ios::binary | std::ios::trunc);
  if (bytes > 0) file.write(static_cast<const char*>(data), bytes);
  if (!file.flush()) throw std::runtime_error("cannot write " + (folder_ / name).string());
  storages_.push_back({{"file", name}, {"bytes", bytes}});
  return entry->second;
}

}  // namespace lockstep::eager
