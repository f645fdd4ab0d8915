#include "workers/eager/observe.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
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

/// A part of a storage, where it is.
at::Tensor bytes_of(const c10::Storage& storage, std::int64_t begin, std::int64_t size) {
  at::Tensor raw = at::empty({0}, at::device(storage.device()).dtype(at::kByte));
  return raw.set_(storage, begin, {size}, {1});
}

/// The bytes of a storage in the memory of the host: where they lie, or else in `copy`.
const char* bytes_on_host(const c10::Storage& storage, at::Tensor& copy) {
  if (storage.device().is_cpu()) return static_cast<const char*>(storage.data());
  copy = bytes_of(storage, 0, static_cast<std::int64_t>(storage.nbytes())).cpu();
  return static_cast<const char*>(copy.const_data_ptr());
}

/// Has the views in a described value point into other storages; whether there were any such.
bool renumber(ordered_json& value, const std::unordered_map<int, int>& storages) {
  bool any = false;
  if (value.is_array()) {
    for (ordered_json& item : value) any |= renumber(item, storages);
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
  if (tensor._is_zerotensor()) {  // it has a size and no bytes, and reads as zeros
    const std::vector<char> zeros(static_cast<std::size_t>(bytes));
    return write_bytes(zeros.data(), bytes);
  }
  // Meta tensors have a size and no bytes.
  if (bytes > 0 && storage.data() == nullptr) throw Unsupported("a result without data");
  if (keeping_) kept_.push_back({storage, entry->second});
  return write_storage(storage);
}

/// Writes what the runner does not have of a storage.
int Observer::write_storage(const c10::Storage& storage) {
  const auto bytes = static_cast<std::int64_t>(storage.nbytes());
  std::optional<Digests> digests = held_.digest(storage);
  int index = 0;
  if (const auto likeness = digests ? held_.most_alike(bytes, *digests) : std::nullopt) {
    index = write_alike(storage, *likeness);
  } else {
    at::Tensor copy;
    index = write_bytes(bytes_on_host(storage, copy), bytes);
  }
  if (!digests) return index;
  if (!kept_.empty() && kept_.back().index == index) kept_.back().digests = digests;
  held_.add(index, bytes, std::move(*digests));
  return index;
}

/// Writes the blocks in which a storage differs from the one that it is like.
int Observer::write_alike(const c10::Storage& storage, const Likeness& likeness) {
  const auto bytes = static_cast<std::int64_t>(storage.nbytes());
  const int index = static_cast<int>(storages_.size());
  ordered_json described = {{"bytes", bytes}, {"same", likeness.same}, {"blocks", likeness.blocks}};
  if (!likeness.blocks.empty()) {
    std::vector<at::Tensor> parts;
    for (const std::uint64_t block : likeness.blocks) {
      const auto begin = static_cast<std::int64_t>(block * kDigestBlock);
      const auto size = std::min(static_cast<std::int64_t>(kDigestBlock), bytes - begin);
      parts.push_back(bytes_of(storage, begin, size));
    }
    const at::Tensor sent = at::cat(parts).cpu();
    described["file"] = std::to_string(index);
    write_file(described["file"], sent.const_data_ptr(), sent.numel());
  }
  storages_.push_back(std::move(described));
  return index;
}

int Observer::write_bytes(const void* data, std::int64_t bytes) {
  const int index = static_cast<int>(storages_.size());
  write_file(std::to_string(index), data, bytes);
  storages_.push_back({{"file", std::to_string(index)}, {"bytes", bytes}});
  return index;
}

void Observer::write_file(const std::string& name, const void* data, std::int64_t bytes) const {
  std::ofstream file(folder_ / name, std::ios::binary | std::ios::trunc);
  if (bytes > 0) file.write(static_cast<const char*>(data), bytes);
  if (!file.flush()) throw std::runtime_error("cannot write " + (folder_ / name).string());
}

/// Whether a storage reads otherwise than when it was written.
bool Observer::has_changed(const Kept& kept) const {
  const ordered_json& written = storages_[static_cast<std::size_t>(kept.index)];
  auto bytes = static_cast<std::int64_t>(kept.storage.nbytes());
  if (written["bytes"] != bytes) return true;
  if (kept.digests) {
    // Where it cannot be digested any more, it is sent once more, and the judge compares.
    const auto now = held_.digest(kept.storage);
    return !now || *now != *kept.digests;
  }
  at::Tensor copy;
  const char* at = bytes_on_host(kept.storage, copy);
  std::ifstream file(folder_ / written["file"].get<std::string>(), std::ios::binary);
  std::vector<char> chunk(1 << 16);
  while (bytes > 0) {
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
    if (!has_changed(kept)) continue;
    const auto bytes = static_cast<std::int64_t>(kept.storage.nbytes());
    const bool smaller = bytes < storages_[static_cast<std::size_t>(kept.index)]["bytes"];
    now[kept.index] = smaller ? -1 : write_storage(kept.storage);
  }
  kept_.clear();
  if (now.empty()) return;
  for (ordered_json& run : runs) {
    for (ordered_json& call : run["calls"]) {
      ordered_json again = ordered_json::object();
      for (const char* group : {"outputs", "grads"}) {
        for (const auto& [name, value] : call[group].items()) {
          if (ordered_json changed = value; renumber(changed, now))
            again[group][name] = std::move(changed);
        }
      }
      if (!again.empty()) call["again"] = std::move(again);
    }
  }
}

}  // namespace lockstep::eager
