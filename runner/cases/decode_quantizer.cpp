#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cases/decode.h"

namespace lockstep {
namespace {

/// One number, or one for each index along an axis.
template <class T, class Read>
std::vector<T> each_number(Reader& reader, const Node& node, bool several, const Read& read) {
  std::vector<T> result;
  if (!several) {
    if (const auto value = read(node)) result.push_back(*value);
  } else if (reader.list(node, "a list with a number for each index along `axis`")) {
    for (std::size_t i = 0; i < node->size(); ++i) {
      if (const auto value = read(reader.element(node, i))) result.push_back(*value);
    }
  }
  return result;
}

}  // namespace

void decode_quantizer(Reader& reader, const Node& tensor, TensorSpec& spec) {
  const bool quantized = spec.dtype->kind == NumberKind::quantized;
  const auto node = reader.child(tensor, "quantizer");
  if (!quantized && node) {
    reader.error(
        node->pointer,
        fmt::format("found a quantizer on {}: only quantized dtypes have one", spec.dtype->name),
        "", true);
  }
  if (!quantized) return;
  const auto given = reader.required(
      tensor, "quantizer",
      "such as {\"scheme\": \"per_tensor_affine\", \"scale\": 0.125, \"zero_point\": 0}");
  if (!given || !reader.object(*given, {"scheme", "scale", "zero_point", "axis"})) return;
  Quantizer quantizer;
  const auto scheme = reader.required(*given, "scheme", "how integers stand for numbers");
  const auto scale = reader.required(*given, "scale", "what an integer is multiplied with");
  const auto zero = reader.required(*given, "zero_point", "the integer that stands for 0");
  if (!scheme || !scale || !zero) return;
  const auto word = reader.word(*scheme, {"per_tensor_affine", "per_channel_affine"},
                                "`per_tensor_affine` or `per_channel_affine`");
  if (!word) return;
  quantizer.scheme = *word;
  const bool several = *word == "per_channel_affine";
  quantizer.scales =
      each_number<double>(reader, *scale, several, [&](const Node& item) -> std::optional<double> {
        const auto value = reader.number(item, "a scale greater than 0");
        if (value && *value > 0) return value;
        if (value) reader.mismatch(item, "a scale greater than 0");
        return std::nullopt;
      });
  quantizer.zero_points = each_number<std::int64_t>(reader, *zero, several, [&](const Node& item) {
    if (!item->is_number_integer()) {
      reader.mismatch(item, "an integer");
      return std::optional<std::int64_t>();
    }
    const auto bits = decode_element(reader, item, *find_dtype(spec.dtype->part));
    return bits ? std::optional(item->get<std::int64_t>()) : std::nullopt;
  });
  const auto axis = reader.child(*given, "axis");
  if (several) {
    const auto rank = static_cast<std::int64_t>(spec.shape.size());
    const auto place = axis ? reader.integer(*axis, 0, std::max<std::int64_t>(rank - 1, 0),
                                             "a dimension of `shape`")
                            : std::optional<std::int64_t>(0);
    if (!place) return;
    quantizer.axis = *place;
    const std::int64_t channels = rank > 0 ? spec.shape[static_cast<std::size_t>(*place)] : -1;
    for (const auto& [list, count] :
         {std::pair{*scale, quantizer.scales.size()}, {*zero, quantizer.zero_points.size()}}) {
      if (list->is_array() && static_cast<std::int64_t>(list->size()) != channels) {
        reader.error(list.pointer,
                     fmt::format("found {} numbers, expected {}, one for each index along `axis`",
                                 count, std::max<std::int64_t>(channels, 0)));
      }
    }
  } else if (axis) {
    reader.error(axis->pointer, "found an axis, which only per_channel_affine has", "", true);
  }
  spec.quantizer = std::move(quantizer);
}

}  // namespace lockstep
