#include "workers/eager/tensors.h"

#include <ATen/ops/_efficientzerotensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/alignment.h>

#include <fstream>

#include "workers/eager/errors.h"
#include "workers/eager/names.h"
#include "workers/eager/perturb.h"
#include "workers/eager/quantized.h"

namespace lockstep::eager {
namespace {

using nlohmann::json;
using Sizes = std::vector<std::int64_t>;

/// Bytes from the start of the storage to the end of the last element that the view reaches.
std::int64_t reach(const Sizes& shape, const Sizes& strides, std::int64_t offset,
                   std::int64_t element_bytes) {
  if (shape.size() != strides.size()) throw Malformed("a view needs one stride for each size");
  if (offset < 0) throw Malformed("a view has a negative offset");
  std::int64_t last = offset;
  bool empty = false, overflow = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0 || strides[i] < 0) throw Malformed("a view has a negative size or stride");
    if (shape[i] == 0) {
      empty = true;
      continue;
    }
    std::int64_t span = 0;
    overflow |= __builtin_mul_overflow(shape[i] - 1, strides[i], &span);
    overflow |= __builtin_add_overflow(last, span, &last);
  }
  if (empty) return 0;
  std::int64_t bytes = 0;
  overflow |= __builtin_add_overflow(last, 1, &last);
  overflow |= __builtin_mul_overflow(last, element_bytes, &bytes);
  if (overflow) throw Malformed("a view reaches beyond 2^63 bytes");
  return bytes;
}

at::Tensor read_bytes(const StorageFile& file) {
  at::Tensor bytes = at::empty({file.bytes}, at::kByte);
  std::ifstream stream(file.path, std::ios::binary);
  stream.read(static_cast<char*>(bytes.mutable_data_ptr()), file.bytes);
  if (!stream) throw Malformed("storage file " + file.path + " is missing or too short");
  return bytes;
}

/// The bytes as elements of `dtype`; what is left over at the end is dropped.
at::Tensor as_elements(const at::Tensor& bytes, c10::ScalarType dtype) {
  const auto item = static_cast<std::int64_t>(c10::elementSize(dtype));
  return at::empty({0}, bytes.options().dtype(dtype))
      .set_(bytes.storage(), 0, {bytes.numel() / item}, {1});
}

}  // namespace

std::vector<StorageFile> parse_storages(const json& storages) {
  std::vector<StorageFile> files;
  for (const json& entry : storages) {
    files.push_back({entry.at("file").get<std::string>(), entry.at("bytes").get<std::int64_t>()});
    if (files.back().bytes < 0) throw Malformed("a storage has a negative size");
  }
  return files;
}

void check_aligned(const c10::Storage& storage, std::size_t index) {
  const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
  if (address % c10::gAlignment == 0) return;
  throw Fault("storage " + std::to_string(index) + " begins at an address that is no multiple of " +
              std::to_string(c10::gAlignment) + ", as memory of torch's own does");
}

c10::ScalarType widest(c10::ScalarType type) {
  if (c10::isFloatingType(type)) return c10::kDouble;
  if (c10::isComplexType(type)) return c10::kComplexDouble;
  return type;
}

const TensorSource::Loaded& TensorSource::load(std::size_t index, c10::Device device,
                                               c10::ScalarType dtype) {
  const auto key = std::make_pair(index, device.str());
  const auto found = loaded_.find(key);
  if (found != loaded_.end()) {
    if (width_ == Width::widest && found->second.dtype != dtype &&
        (widest(dtype) != dtype || widest(found->second.dtype) != found->second.dtype)) {
      throw Unsupported("a storage seen as " + dtype_name(dtype) + " and as " +
                        dtype_name(found->second.dtype) + " cannot be widened");
    }
    return found->second;
  }
  at::Tensor bytes = read_bytes(files_[index]);
  if (perturbed_.contains(index)) {
    perturb_storage({static_cast<std::byte*>(bytes.mutable_data_ptr()),
                     static_cast<std::size_t>(bytes.numel())},
                    dtype_name(dtype), index);
  }
  if (width_ == Width::widest && widest(dtype) != dtype) {
    bytes = as_elements(bytes, dtype).to(widest(dtype));
  }
  check_aligned(bytes.storage(), index);
  if (device != c10::kCPU) bytes = bytes.to(device);
  return loaded_.emplace(key, Loaded{bytes.storage(), dtype}).first->second;
}

at::Tensor TensorSource::build(const json& view) {
  const std::string layout = view.value("layout", "strided");
  if (layout != "strided") throw Unsupported("layout " + layout);
  const auto index = view.at("storage").get<std::size_t>();
  if (index >= files_.size()) throw Malformed("a view names a storage that is not there");
  const c10::ScalarType dtype = parse_dtype(view.at("dtype").get<std::string>());
  const auto shape = view.at("shape").get<Sizes>();
  const auto strides = view.at("strides").get<Sizes>();
  const auto offset = view.value("offset", std::int64_t{0});
  const c10::Device device =
      view.contains("device") ? parse_device(view["device"].get<std::string>()) : device_;
  const auto item = static_cast<std::int64_t>(c10::elementSize(dtype));
  if (reach(shape, strides, offset, item) > files_[index].bytes) {
    throw Malformed("a view of storage " + std::to_string(index) + " reaches outside it");
  }

  const c10::ScalarType built = width_ == Width::widest ? widest(dtype) : dtype;
  if (view.value("zero_tensor", false)) {
    // It has no memory; its storage in the request is what it reads as.
    at::Tensor zeros = at::_efficientzerotensor(shape, at::device(device).dtype(built));
    if (view.value("requires_grad", false)) zeros.requires_grad_(true);
    return zeros;
  }
  if (c10::isQIntType(built)) {
    if (width_ == Width::widest) throw Unsupported("a quantized input cannot be widened");
    const at::Tensor integers =
        at::empty({0}, at::device(device).dtype(c10::toUnderlying(dtype)))
            .set_(load(index, device, dtype).storage, offset, shape, strides);
    return quantized_from(integers, view.value("quantizer", json()));
  }
  at::Tensor tensor = at::empty({0}, at::device(device).dtype(built))
                          .set_(load(index, device, dtype).storage, offset, shape, strides);
  if (view.value("conj", false)) tensor._set_conj(true);
  if (view.value("neg", false)) tensor._set_neg(true);
  if (view.value("requires_grad", false)) tensor.requires_grad_(true);
  return tensor;
}

}  // namespace lockstep::eager
