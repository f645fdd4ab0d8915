#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

// Views of a request become tensors.
namespace lockstep::eager {

/// A file whose bytes are a storage.
struct StorageFile {
  std::string path;
  std::int64_t bytes = 0;
};

/// The storages of a request, read from its `storages`.
std::vector<StorageFile> parse_storages(const nlohmann::json& storages);

/// Whether floating and complex storages are built as they are, or as float64 and complex128.
enum class Width { as_given, widest };

/// Fresh tensors for one call of a program, inputs and literals: views with the same storage index
/// share memory, and nothing is shared with tensors of another TensorSource.
class TensorSource {
 public:
  TensorSource(const std::vector<StorageFile>& files, c10::Device device, Width width)
      : files_(files), device_(device), width_(width) {}

  /// The elements of this storage are to be moved by one unit in the last place (perturb.h) before
  /// they are widened; to be said before a view of it is built.
  void perturb(std::size_t index) { perturbed_.insert(index); }

  /// Builds the tensor that a view describes, on the run's device unless the view names one.
  /// Throws Malformed for a view that is no view or leaves its storage; Unsupported for a dtype,
  /// device or layout that cannot be built.
  at::Tensor build(const nlohmann::json& view);

 private:
  struct Loaded {
    c10::Storage storage;
    c10::ScalarType dtype;  ///< of the elements, where the storage was widened
  };
  const Loaded& load(std::size_t index, c10::Device device, c10::ScalarType dtype);

  const std::vector<StorageFile>& files_;
  c10::Device device_;
  Width width_;
  std::set<std::size_t> perturbed_;
  std::map<std::pair<std::size_t, std::string>, Loaded> loaded_;
};

/// Throws Fault where a storage of the CPU does not begin where memory of torch's own does: several
/// operators have other bits then, so that executions that are compared would differ by that alone.
void check_aligned(const c10::Storage& storage, std::size_t index);

/// float64 for floating dtypes, complex128 for complex ones, any other dtype itself.
c10::ScalarType widest(c10::ScalarType type);

}  // namespace lockstep::eager
