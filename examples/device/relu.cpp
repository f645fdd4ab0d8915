// The device's own kernel: relu of eight numbers at a time. With HOSTDEV_DROPS_TAIL it is wrong as
// kernels are: what is left over of a length that eight does not divide stays as it was.
#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace {

constexpr std::int64_t kLanes = 8;

void rectify(float* data, std::int64_t count) {
  // Not max(x, 0): NaN stays NaN.
  const auto relu = [](float x) { return x <= 0 ? 0.0F : x; };
  std::int64_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) data[at + lane] = relu(data[at + lane]);
  }
#ifndef HOSTDEV_DROPS_TAIL
  for (; at < count; ++at) data[at] = relu(data[at]);
#endif
}

at::Tensor& relu_(at::Tensor& self) {
  if (self.scalar_type() == at::kFloat && self.is_contiguous()) {
    rectify(self.mutable_data_ptr<float>(), self.numel());
    return self;
  }
  return self.copy_(self.cpu().relu());  // the kernel knows nothing else
}

at::Tensor relu(const at::Tensor& self) {
  at::Tensor result = self.clone();
  return relu_(result);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("relu", &relu);
  m.impl("relu_", &relu_);
}
