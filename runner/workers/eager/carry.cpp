#include "workers/eager/carry.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

namespace lockstep::eager {

c10::IValue StorageCopies::of(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return value;
  return of(value.toTensor());
}

at::Tensor StorageCopies::of(const at::Tensor& tensor) {
  const c10::AutoGradMode no_grad(false);
  const c10::InferenceMode no_inference(false);
  const bool plain = tensor.layout() == c10::kStrided && tensor.has_storage() &&
                     !tensor.is_quantized() && !tensor._is_zerotensor() &&
                     (tensor.storage().nbytes() == 0 || tensor.storage().data() != nullptr);
  if (!plain) return tensor.clone().detach();
  const c10::Storage& storage = tensor.storage();
  const auto [copy, is_new] = copies_.try_emplace(storage.unsafeGetStorageImpl());
  if (is_new) {
    const auto bytes = static_cast<std::int64_t>(storage.nbytes());
    at::Tensor raw = at::empty({0}, at::device(storage.device()).dtype(at::kByte));
    copy->second = raw.set_(storage, 0, {bytes}, {1}).clone().storage();
  }
  at::Tensor fresh = at::empty({0}, tensor.options().requires_grad(false));
  fresh.set_(copy->second, tensor.storage_offset(), tensor.sizes(), tensor.strides());
  if (tensor.is_conj()) fresh._set_conj(true);
  if (tensor.is_neg()) fresh._set_neg(true);
  return fresh;
}

}  // namespace lockstep::eager
