#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>

// How the integers of quantized tensors stand for numbers: the `quantizer` of a view.
namespace lockstep::eager {

/// A quantized tensor of these integers: a copy, since torch offers no quantized view of a storage.
/// Unsupported for schemes other than per_tensor_affine and per_channel_affine.
at::Tensor quantized_from(const at::Tensor& integers, const nlohmann::json& quantizer);

/// `{"scheme": "per_tensor_affine", "scales": [{"float": "0x1p-3"}], "zero_points": [0]}`, or
/// per_channel_affine with one of each for every index along `axis`.
nlohmann::ordered_json describe_quantizer(const at::Tensor& tensor);

}  // namespace lockstep::eager
