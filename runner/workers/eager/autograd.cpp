#include "workers/eager/autograd.h"

#include <ATen/ops/ones_like.h>
#include <torch/csrc/autograd/autograd.h>

#include "workers/eager/errors.h"

namespace lockstep::eager {
namespace {

using nlohmann::json;

/// Tensors given by value or, as `backward` does, by name.
std::vector<at::Tensor> tensors(const json& list, const Scope& scope) {
  std::vector<at::Tensor> result;
  for (const json& item : list) {
    const c10::IValue value =
        item.is_string() ? lookup(scope, item.get<std::string>()) : to_ivalue(item, scope);
    TORCH_CHECK_TYPE(value.isTensor() || value.isNone(), "gradients are of tensors, not of ",
                     value.tagKind());
    result.push_back(value.isNone() ? at::Tensor() : value.toTensor());
  }
  return result;
}

std::vector<at::Tensor> starts(const json& request, const std::vector<at::Tensor>& of,
                               const Scope& scope) {
  const json with = request.value("with", json());
  if (with.is_array()) return tensors(with, scope);
  if (!with.is_null() && with != "ones") throw Malformed("`with` is \"ones\" or a list");
  std::vector<at::Tensor> ones;
  for (const at::Tensor& tensor : of) ones.push_back(at::ones_like(tensor));
  return ones;
}

}  // namespace

std::vector<at::Tensor> grad_step(const json& step, const Scope& scope) {
  const auto of = tensors(step.at("of"), scope);
  const bool create_graph = step.value("create_graph", false);
  // retain_graph follows create_graph, as in torch.autograd.grad.
  return torch::autograd::grad(of, tensors(step.at("wrt"), scope), starts(step, of, scope),
                               std::nullopt, create_graph, /*allow_unused=*/true);
}

void backward(const json& request, const Scope& scope) {
  const auto of = tensors(request.at("of"), scope);
  torch::autograd::backward(of, starts(request, of, scope));
}

}  // namespace lockstep::eager
