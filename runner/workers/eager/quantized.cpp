#include "workers/eager/quantized.h"

#include <ATen/ops/_make_per_channel_quantized_tensor.h>
#include <ATen/ops/_make_per_tensor_quantized_tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/QScheme.h>

#include <algorithm>

#include "program/program_json.h"
#include "workers/eager/errors.h"
#include "workers/eager/values.h"

namespace lockstep::eager {

using nlohmann::json;
using nlohmann::ordered_json;

at::Tensor quantized_from(const at::Tensor& integers, const json& quantizer) {
  if (!quantizer.is_object()) throw Malformed("a quantized view needs a quantizer");
  const auto scheme = quantizer.at("scheme").get<std::string>();
  const json& scale_values = quantizer.at("scales");
  const auto points = quantizer.at("zero_points").get<std::vector<std::int64_t>>();
  std::vector<double> scales;
  for (const json& scale : scale_values)
    scales.push_back(to_ivalue(parse_value(scale), {}).toDouble());
  if (points.empty() || points.size() != scales.size()) {
    throw Malformed("a quantizer needs as many scales as zero points");
  }
  if (scheme == "per_tensor_affine") {
    return at::_make_per_tensor_quantized_tensor(integers, scales[0], points[0]);
  }
  if (scheme != "per_channel_affine") throw Unsupported("quantizer " + scheme);

  const auto axis = quantizer.value("axis", std::int64_t{0});
  const auto count = static_cast<std::int64_t>(scales.size());
  if (axis < 0 || axis >= integers.dim() || integers.size(axis) != count) {
    throw Malformed("a quantizer needs one scale for each index along its axis");
  }
  at::Tensor scale_tensor = at::empty({count}, at::kDouble);
  at::Tensor point_tensor = at::empty({count}, at::kLong);
  std::copy(scales.begin(), scales.end(), scale_tensor.mutable_data_ptr<double>());
  std::copy(points.begin(), points.end(), point_tensor.mutable_data_ptr<std::int64_t>());
  const auto device = integers.device();
  return at::_make_per_channel_quantized_tensor(integers, scale_tensor.to(device),
                                                point_tensor.to(device), axis);
}

ordered_json describe_quantizer(const at::Tensor& tensor) {
  ordered_json out;
  out["scheme"] = toString(tensor.qscheme());
  out["scales"] = out["zero_points"] = ordered_json::array();
  const auto add = [&](double scale, std::int64_t zero_point) {
    out["scales"].push_back({{"float", float_text(scale)}});
    out["zero_points"].push_back(zero_point);
  };
  if (tensor.qscheme() == c10::kPerTensorAffine) {
    add(tensor.q_scale(), tensor.q_zero_point());
  } else if (tensor.qscheme() == c10::kPerChannelAffine) {
    const at::Tensor scales = tensor.q_per_channel_scales().cpu().to(at::kDouble).contiguous();
    const at::Tensor points = tensor.q_per_channel_zero_points().cpu().to(at::kLong).contiguous();
    for (std::int64_t i = 0; i < scales.numel(); ++i) {
      add(scales.const_data_ptr<double>()[i], points.const_data_ptr<std::int64_t>()[i]);
    }
    out["axis"] = tensor.q_per_channel_axis();
  } else {
    throw Unsupported("a result quantized with " + toString(tensor.qscheme()));
  }
  return out;
}

}  // namespace lockstep::eager
