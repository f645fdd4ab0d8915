#pragma once

#include <ATen/core/ivalue.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

// Tensors become views of an observation and storages become files.
namespace lockstep::eager {

/// Names and values in the program's order.
using NamedValues = std::vector<std::pair<std::string, c10::IValue>>;

/// Writes the storages of results as files `0`, `1`, ... of a folder and describes the results.
class Observer {
 public:
  explicit Observer(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The entry of `calls` for one call, with each storage written as it is now.  Storages are told
  /// apart by identity, so sharing among these values survives; the values must be alive at once.
  /// Throws Unsupported("layout ...") for what is not strided.
  nlohmann::ordered_json call(const NamedValues& outputs, const NamedValues& inputs,
                              const NamedValues& grads);

  /// `storages` of the observation: what has been written so far.
  const nlohmann::ordered_json& storages() const { return storages_; }

 private:
  nlohmann::ordered_json describe(const std::string& name, const c10::IValue& value);
  nlohmann::ordered_json describe_tensor(const at::Tensor& tensor);
  int write(const at::Tensor& tensor);

  std::filesystem::path folder_;
  nlohmann::ordered_json storages_ = nlohmann::ordered_json::array();
  std::unordered_map<const void*, int> written_;              ///< of this call, by StorageImpl
  std::unordered_map<const void*, std::string> input_names_;  ///< of this call, by TensorImpl
};

}  // namespace lockstep::eager
