// What a device has to do itself: memory, views, copies. All else the CPU computes, on copies.
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_native_batch_norm_legit.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

namespace {

using Options = std::optional<c10::ScalarType>;

void check_layout(std::optional<c10::Layout> layout, std::optional<bool> pinned) {
  TORCH_CHECK_NOT_IMPLEMENTED(layout.value_or(c10::kStrided) == c10::kStrided,
                              "hostdev has strided tensors only");
  TORCH_CHECK(!pinned.value_or(false), "memory of hostdev is not pinned");
}

at::Tensor empty(at::IntArrayRef size, Options dtype, std::optional<c10::Layout> layout,
                 std::optional<c10::Device>, std::optional<bool> pinned,
                 std::optional<c10::MemoryFormat> format) {
  check_layout(layout, pinned);
  return at::detail::empty_generic(size, c10::GetAllocator(c10::kPrivateUse1),
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef strides, Options dtype,
                         std::optional<c10::Layout> layout, std::optional<c10::Device>,
                         std::optional<bool> pinned) {
  check_layout(layout, pinned);
  return at::detail::empty_strided_generic(size, strides, c10::GetAllocator(c10::kPrivateUse1),
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(dtype));
}

/// A tensor of the CPU on the same memory; one of the CPU is itself.
at::Tensor on_host(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor;
  TORCH_CHECK_NOT_IMPLEMENTED(!tensor.is_quantized(), "hostdev has no quantized tensors");
  at::Tensor host = at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                                  at::TensorOptions(tensor.scalar_type()));
  host._set_conj(tensor.is_conj());
  host._set_neg(tensor.is_neg());
  return host;
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  on_host(to).copy_(on_host(from));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  to.resize_(from.sizes());
  return copy_from(from, to, false);
}

at::Scalar local_scalar_dense(const at::Tensor& tensor) {
  return at::native::_local_scalar_dense_cpu(on_host(tensor));
}

// Views know sizes and strides only: torch's functions for the CPU's serve every memory.
at::Tensor view(const at::Tensor& self, at::IntArrayRef size) {
  return at::native::view(self, size);
}
at::Tensor as_strided(const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef strides,
                      std::optional<std::int64_t> offset) {
  return at::native::as_strided_tensorimpl(self, size, strides, offset);
}
at::Tensor reshape_alias(const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef strides) {
  return at::native::_reshape_alias(self, size, strides);
}

const at::Tensor& resize(const at::Tensor& self, at::IntArrayRef size,
                         std::optional<c10::MemoryFormat> format) {
  return at::native::resize_(self, size, format);
}

at::Tensor& set_storage(at::Tensor& self, at::Storage storage) {
  return at::native::set_(self, storage);
}
at::Tensor& set_storage_offset(at::Tensor& self, at::Storage storage, std::int64_t offset,
                               at::IntArrayRef size, at::IntArrayRef strides) {
  return at::native::set_storage_cpu_(self, storage, offset, size, strides);
}

/// Its schema says nothing of the running averages that it writes, so that the fallback would lose
/// them.
std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm(
    const at::Tensor& x, const std::optional<at::Tensor>& weight,
    const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& mean,
    const std::optional<at::Tensor>& variance, bool training, double momentum, double eps) {
  if (!mean || !mean->defined() || !variance || !variance->defined())
    return at::_native_batch_norm_legit(x, weight, bias, training, momentum, eps);
  at::Tensor running_mean = *mean, running_variance = *variance;
  return at::_native_batch_norm_legit(x, weight, bias, running_mean, running_variance, training,
                                      momentum, eps);
}

void on_the_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("_local_scalar_dense", &local_scalar_dense);
  m.impl("native_batch_norm", &batch_norm);
  m.impl("view", &view);
  m.impl("as_strided", &as_strided);
  m.impl("_reshape_alias", &reshape_alias);
  m.impl("unfold", &at::native::unfold);
  m.impl("view_as_real", &at::native::view_as_real);
  m.impl("view_as_complex", &at::native::view_as_complex);
  m.impl("resize_", &resize);
  m.impl("set_.source_Tensor", &at::native::set_tensor_);
  m.impl("set_.source_Storage", &set_storage);
  m.impl("set_.source_Storage_storage_offset", &set_storage_offset);
}

// Copies know the lazy bits: to have them resolved first would take another copy, and so on for
// ever.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>());
}
