#include "workers/eager/observe.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "workers/eager/errors.h"
#include "workers/eager/names.h"
#include "workers/eager/quantized.h"
#include "workers/eager/values.h"

namespace lockstep::eager {

using nlohmann::ordered_json;

namespace {

at::Tensor bytes_on_cpu(const c10::Storage& storage) {
  at::Tensor raw = at::empty({0}, at::device(storage.device()).dtype(at::kByte));
  return raw.set_(storage, 0, {static_cast<std::int64_t>(storage.nbytes())}, {1}).cpu();
}

/// Has the views in a described value point into other storages; whether there were any such.
bool point_elsewhere(ordered_json& value, const std::unordered_map<int, int>& storages) {
  bool any = false;
  if (value.is_array()) {
    for (ordered_json& item : value) any |= point_elsewhere(item, storages);
  } else if (value.is_object() && value.contains("storage")) {
    const auto found = storages.find(value["storage"].get<int>());
    if (found == storages.end()) return false;
    any = true;
    if (found->second < 0) {
      value = nullptr;
    } else {
      value["storage"] = found->second;
    }
  }
  return any;
}

}  // namespace

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
  ordered_json call = {{"outputs", describe_all(outputs, true)}};
  const bool keeping = std::exchange(keeping_, false);  // inputs are nobody's results
  call["inputs"] = describe_all(inputs, false);
  keeping_ = keeping;
  call["grads"] = describe_all(grads, true);
  return call;
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
  } else {
    if (keeping_) kept_.push_back({storage, entry->second});
    if (tensor.device() != c10::kCPU) {
      raw = bytes_on_cpu(storage);
      data = raw.const_data_ptr();
    }
  }
  // Meta tensors have a size and no bytes.
  if (bytes > 0 && data == nullptr) throw Unsupported("a result without data");
  return write_bytes(data, bytes);
}

int Observer::write_bytes(const void* data, std::int64_t bytes) {
  const int index = static_cast<int>(storages_.size());
  const std::string name = std::to_string(index);
  std::ofstream file(folder_ / name, std::ios::binary | std::ios::trunc);
  if (bytes > 0) file.write(static_cast<const char*>(data), bytes);
  if (!file.flush()) throw std::runtime_error("cannot write " + (folder_ / name).string());
  storages_.push_back({{"file", name}, {"bytes", bytes}});
  return index;
}

bool Observer::has_changed(int index, const void* data, std::int64_t bytes) const {
  const ordered_json& written = storages_[static_cast<std::size_t>(index)];
  if (written["bytes"] != bytes) return true;
  std::ifstream file(folder_ / written["file"].get<std::string>(), std::ios::binary);
  std::vector<char> chunk(1 << 16);
  for (const auto* at = static_cast<const char*>(data); bytes > 0;) {
    const std::int64_t count = std::min(bytes, static_cast<std::int64_t>(chunk.size()));
    if (!file.read(chunk.data(), count)) throw std::runtime_error("cannot read what was written");
    if (std::memcmp(chunk.data(), at, static_cast<std::size_t>(count)) != 0) return true;
    at += count;
    bytes -= count;
  }
  return false;
}

void Observer::read_again(ordered_json& runs) {
  std::unordered_map<int, int> now;  // storages that have changed → as they are; -1: gone
  for (const Kept& kept : kept_) {
    const auto bytes = static_cast<std::int64_t>(kept.storage.nbytes());
    at::Tensor raw;
    const void* data = kept.storage.data();
    if (kept.storage.device() != c10::kCPU) {
      raw = bytes_on_cpu(kept.storage);
      data = raw.const_data_ptr();
    }
    if (!has_changed(kept.index, data, bytes)) continue;
    const bool smaller = bytes < storages_[static_cast<std::size_t>(kept.index)]["bytes"];
    now[kept.index] = smaller ? -1 : write_bytes(data, bytes);
  }
  kept_.clear();
  if (now.empty()) return;
  for (ordered_json& run : runs) {
    for (ordered_json& call : run["calls"]) {
      ordered_json again = ordered_json::object();
      for (const char* group : {"outputs", "grads"}) {
        for (const auto& [name, value] : call[group].items()) {
          if (ordered_json changed = value; point_elsewhere(changed, now))
            again[group][name] = std::move(changed);
        }
      }
      if (!again.empty()) call["again"] = std::move(again);
    }
  }
}

}  // namespace lockstep::eager
