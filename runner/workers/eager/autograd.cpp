#include "workers/eager/autograd.h"

#include <ATen/ops/ones_like.h>
#include <torch/csrc/autograd/autograd.h>

namespace lockstep::eager {
namespace {

at::Tensor tensor(const c10::IValue& value) {
  TORCH_CHECK_TYPE(value.isTensor() || value.isNone(), "gradients are of tensors, not of ",
                   value.tagKind());
  return value.isNone() ? at::Tensor() : value.toTensor();
}

std::vector<at::Tensor> tensors(const std::vector<Value>& values, const Scope& scope) {
  std::vector<at::Tensor> result;
  for (const Value& value : values) result.push_back(tensor(to_ivalue(value, scope)));
  return result;
}

std::vector<at::Tensor> tensors(const std::vector<std::string>& names, const Scope& scope) {
  std::vector<at::Tensor> result;
  for (const std::string& name : names) result.push_back(tensor(lookup(scope, name)));
  return result;
}

std::vector<at::Tensor> ones_like(const std::vector<at::Tensor>& of) {
  std::vector<at::Tensor> ones;
  for (const at::Tensor& each : of) ones.push_back(at::ones_like(each));
  return ones;
}

}  // namespace

std::vector<at::Tensor> grad_step(const GradCall& grad, const Scope& scope) {
  const auto of = tensors(grad.of, scope);
  const auto with = grad.with ? tensors(*grad.with, scope) : ones_like(of);
  // retain_graph follows create_graph, as in torch.autograd.grad.
  return torch::autograd::grad(of, tensors(grad.wrt, scope), with, std::nullopt, grad.create_graph,
                               /*allow_unused=*/true);
}

void backward(const Backward& request, const Scope& scope, bool retain_graph) {
  const auto of = tensors(request.of, scope);
  torch::autograd::backward(of, request.with ? tensors(*request.with, scope) : ones_like(of),
                            retain_graph);
}

}  // namespace lockstep::eager
