#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "workers/eager/held.h"

// Tensors become views of an observation and storages become files.
namespace lockstep::eager {

/// Names and values in the program's order.
using NamedValues = std::vector<std::pair<std::string, c10::IValue>>;

/// Writes the storages of results as files `0`, `1`, ... of a folder and describes the results.
class Observer {
 public:
  explicit Observer(std::filesystem::path folder, HeldStorages held = {})
      : folder_(std::move(folder)), held_(std::move(held)) {}

  /// The entry of `calls` for one call, with each storage written as it is now.  Storages are told
  /// apart by identity, so sharing among these values survives; the values must be alive at once.
  /// Throws Unsupported("layout ...") for what is not strided.
  nlohmann::ordered_json call(const NamedValues& outputs, const NamedValues& inputs,
                              const NamedValues& grads);

  /// From now on `call` holds on to the storages of outputs and gradients for `read_again`.
  void keep() { keeping_ = true; }

  /// Adds to the calls of `runs` what reads otherwise by now of their outputs and gradients: their
  /// `again`.
  void read_again(nlohmann::ordered_json& runs);

  /// `storages` of the observation: what has been written so far.
  const nlohmann::ordered_json& storages() const { return storages_; }

 private:
  /// A storage that was written, under its index in `storages_`, and the digests that it had then,
  /// if they were computed.
  struct Kept {
    c10::Storage storage;
    int index;
    std::optional<Digests> digests = {};
  };

  nlohmann::ordered_json describe(const std::string& name, const c10::IValue& value);
  nlohmann::ordered_json describe_tensor(const at::Tensor& tensor);
  int write(const at::Tensor& tensor);
  int write_storage(const c10::Storage& storage);
  int write_alike(const c10::Storage& storage, const Likeness& likeness);
  int write_bytes(const void* data, std::int64_t bytes);
  void write_file(const std::string& name, const void* data, std::int64_t bytes) const;
  bool has_changed(const Kept& kept) const;

  std::filesystem::path folder_;
  HeldStorages held_;
  nlohmann::ordered_json storages_ = nlohmann::ordered_json::array();
  bool keeping_ = false;
  std::vector<Kept> kept_;
  std::unordered_map<const void*, int> written_;              ///< of this call, by StorageImpl
  std::unordered_map<const void*, std::string> input_names_;  ///< of this call, by TensorImpl
};

}  // namespace lockstep::eager
