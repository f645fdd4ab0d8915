#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "wire/held.h"
#include "wire/json_at.h"
#include "wire/tensor.h"

namespace lockstep {

/// Values by name: outputs, inputs or gradients of one call.  A list `y` is followed by its
/// elements as values of their own, `y[0]`, `y[1]`.
using NamedValues = std::vector<std::pair<std::string, DataValue>>;

/// The value of that name; nullptr if there is none.
inline const DataValue* find_value(const NamedValues& values, std::string_view name) {
  for (const auto& [key, value] : values) {
    if (key == name) return &value;
  }
  return nullptr;
}

/// The same, if it is a tensor.
inline const TensorView* find_tensor(const NamedValues& values, std::string_view name) {
  const DataValue* value = find_value(values, name);
  return value == nullptr ? nullptr : std::get_if<TensorView>(value);
}

}  // namespace lockstep

namespace lockstep::wire {

/// The values of one document, whose views point into the files that it names.  Everything that
/// these say is checked; what is wrong is thrown as Broken.
class Values {
 public:
  /// `storages`: `[{"file": "0", "bytes": 80}]`, plain names of files in `directory`, or what of
  /// `held`, or of those before it, a storage is the same as.
  Values(const JsonAt& storages, const std::filesystem::path& directory,
         const HeldStorages& held = {});

  /// Reads an object of values by name.
  NamedValues read(const JsonAt& node);
  const std::vector<std::shared_ptr<const FileCopy>>& files() const { return files_; }

 private:
  void add_file(const JsonAt& node, const std::filesystem::path& directory);
  void add_alike(const JsonAt& node, const std::filesystem::path& directory,
                 const HeldStorages& held);
  void read_value(const JsonAt& value, std::string name, NamedValues& values);
  TensorView read_view(const JsonAt& node) const;
  std::span<const std::byte> bytes(const JsonAt& index) const;

  std::vector<std::span<const std::byte>> bytes_;
  std::vector<std::shared_ptr<const FileCopy>> files_;
  std::size_t values_ = 0;  ///< so far
};

}  // namespace lockstep::wire
