#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "base/wide.h"
#include "cases/decode.h"
#include "cases/fill.h"

namespace lockstep {
namespace {

// More than any machine has, small enough that no product overflows.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 46;

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const Dtype& dtype : all_dtypes()) names.emplace_back(dtype.name);
  return names;
}

std::optional<std::vector<std::int64_t>> decode_sizes(Reader& reader, const Node& node,
                                                      std::string_view expected) {
  if (!reader.list(node, expected)) return std::nullopt;
  std::vector<std::int64_t> sizes;
  bool good = true;
  for (std::size_t i = 0; i < node->size(); ++i) {
    const auto size = reader.integer(reader.element(node, i), 0, kMostBytes, "a size of 0 or more");
    good = good && size.has_value();
    sizes.push_back(size.value_or(0));
  }
  return good ? std::optional(sizes) : std::nullopt;
}

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

/// Elements that a view needs in its storage, from the first; nothing when it is more than a
/// machine can have.
std::optional<std::int64_t> extent(const TensorSpec& spec) {
  Wide last = static_cast<Wide>(spec.offset);
  for (std::size_t i = 0; i < spec.shape.size(); ++i) {
    if (spec.shape[i] == 0) return spec.offset;
    last += static_cast<Wide>(spec.shape[i] - 1) * static_cast<Wide>(spec.strides[i]);
    if (last > static_cast<Wide>(kMostBytes)) return std::nullopt;
  }
  return static_cast<std::int64_t>(last) + 1;
}

std::optional<double> parse_float_text(std::string_view text) {
  bool negative = false;
  std::string_view rest = text;
  if (rest.starts_with('-') || rest.starts_with('+')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  double value = 0;
  if (rest == "inf") {
    value = std::numeric_limits<double>::infinity();
  } else if (rest == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (rest.starts_with("0x")) {
    rest.remove_prefix(2);
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value, std::chars_format::hex);
    if (error != std::errc{} || end != rest.data() + rest.size()) return std::nullopt;
  } else if (rest == "0.0") {
    value = 0;
  } else {
    return std::nullopt;
  }
  return std::copysign(value, negative ? -1.0 : 1.0);
}

/// A real number of a floating dtype (or of the part of a complex one).
std::optional<std::uint64_t> decode_real(Reader& reader, const Node& node, const Dtype& dtype) {
  if (node->is_number()) {
    const double value = node->get<double>();
    const std::uint64_t bits = encode_float(dtype, value);
    if (!std::isfinite(decode_float(dtype, bits))) {
      reader.mismatch(node, fmt::format("a number in the range of {}", dtype.name),
                      "write \"inf\" to mean infinity");
      return std::nullopt;
    }
    return bits;
  }
  if (node->is_string()) {
    if (const auto value = parse_float_text(node->get<std::string>())) {
      if (std::isinf(*value) && !dtype.has_infinity) {
        reader.error(node.pointer,
                     fmt::format("found an infinity, which {} does not have", dtype.name));
        return std::nullopt;
      }
      return encode_float(dtype, *value);
    }
  }
  reader.mismatch(
      node, fmt::format("an element of {}", dtype.name),
      "a number, \"-0.0\", \"nan\", \"inf\", \"-inf\", \"0x1.8p-4\" or {\"bits\": \"0x7fc1\"}");
  return std::nullopt;
}

std::optional<ElementBits> decode_bits(Reader& reader, const Node& node, const Dtype& dtype) {
  const auto text = reader.text(node, "a hexadecimal string such as \"0x7fc1\"");
  if (!text) return std::nullopt;
  std::string_view digits = *text;
  ElementBits bits;
  const std::size_t wide = static_cast<std::size_t>(dtype.bytes) * 2;
  const bool hex = digits.starts_with("0x") && digits.size() > 2 && digits.size() - 2 <= wide &&
                   digits.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
  if (!hex) {
    reader.mismatch(node, fmt::format("\"0x\" and at most {} hexadecimal digits ({} has {} bytes)",
                                      wide, dtype.name, dtype.bytes));
    return std::nullopt;
  }
  digits.remove_prefix(2);
  if (digits.size() > 16) {
    const std::size_t upper = digits.size() - 16;
    std::from_chars(digits.data(), digits.data() + upper, bits.high, 16);
    digits.remove_prefix(upper);
  }
  std::from_chars(digits.data(), digits.data() + digits.size(), bits.low, 16);
  return bits;
}

std::optional<ElementBits> decode_whole(Reader& reader, const Node& node, const Dtype& dtype) {
  const int width = dtype.bytes * 8;
  if (dtype.kind == NumberKind::signed_integer) {
    const std::int64_t greatest = width == 64 ? INT64_MAX : (std::int64_t{1} << (width - 1)) - 1;
    const auto value = reader.integer(node, -greatest - 1, greatest,
                                      fmt::format("an integer in the range of {}", dtype.name));
    return value ? std::optional(ElementBits{static_cast<std::uint64_t>(*value), 0}) : std::nullopt;
  }
  const std::uint64_t greatest = width == 64 ? UINT64_MAX : (std::uint64_t{1} << width) - 1;
  if (node->is_number_unsigned() && node->get<std::uint64_t>() <= greatest)
    return ElementBits{node->get<std::uint64_t>(), 0};
  reader.mismatch(node, fmt::format("an integer in the range of {}", dtype.name));
  return std::nullopt;
}

/// Flattens nested lists in row-major order and reports where their shape is not regular.
void flatten(Reader& reader, const Node& node, std::size_t depth, std::vector<std::int64_t>& shape,
             std::vector<Node>& flat) {
  if (!node->is_array()) {
    if (depth != shape.size()) {
      reader.error(node.pointer, "found an element where the other rows have a list");
    } else {
      flat.push_back(node);
    }
    return;
  }
  if (flat.empty() && depth == shape.size())
    shape.push_back(static_cast<std::int64_t>(node->size()));
  if (depth >= shape.size() || shape[depth] != static_cast<std::int64_t>(node->size())) {
    reader.error(
        node.pointer,
        fmt::format("found a list of {}, expected {} as in the rows before", node->size(),
                    depth >= shape.size() ? "an element" : fmt::format("one of {}", shape[depth])));
    return;
  }
  for (std::size_t i = 0; i < node->size(); ++i)
    flatten(reader, reader.element(node, i), depth + 1, shape, flat);
}

void decode_values(Reader& reader, const Node& node, TensorSpec& spec, bool has_shape, bool plain) {
  std::vector<std::int64_t> shape;
  std::vector<Node> flat;
  flatten(reader, node, 0, shape, flat);
  if (!has_shape) {
    spec.shape = shape;
    spec.strides = contiguous_strides(shape);
    spec.storage_elements = static_cast<std::int64_t>(flat.size());
  } else if (shape.size() != 1 && (!plain || shape != spec.shape)) {
    reader.error(
        node.pointer,
        fmt::format("found nested values of shape [{}], expected {}", fmt::join(shape, ", "),
                    plain ? fmt::format("shape [{}]", fmt::join(spec.shape, ", "))
                          : "a flat list: with strides, values are the storage, in its order"));
    return;
  } else if (static_cast<std::int64_t>(flat.size()) != spec.storage_elements) {
    reader.error(node.pointer,
                 fmt::format("found {} values, expected {}, one for each element of the storage",
                             flat.size(), spec.storage_elements));
    return;
  }
  LiteralFill fill;
  for (const Node& element : flat) {
    fill.elements.push_back(decode_element(reader, element, *spec.dtype).value_or(ElementBits{}));
  }
  spec.fill = std::move(fill);
}

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

/// How the integers of a quantized tensor stand for numbers; of other tensors there is nothing to
/// say.
void quantizer_of(Reader& reader, const Node& tensor, TensorSpec& spec) {
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
    const auto bits = decode_whole(reader, item, *find_dtype(spec.dtype->part));
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

/// Fall-backs that come from the shape, as torch.nn.init computes them: fan_in is a row's elements,
/// fan_out the rows times the receptive field.
double shape_parameter(std::string_view name, const std::vector<std::int64_t>& shape) {
  double row = 1, field = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) row *= static_cast<double>(shape[i]);
  for (std::size_t i = 2; i < shape.size(); ++i) field *= static_cast<double>(shape[i]);
  const double rows = shape.empty() ? 1 : static_cast<double>(shape[0]);
  return std::max(1.0, name == "fan_in" ? row : rows * field);
}

/// What a rule's parameters must satisfy, beyond being numbers.
std::string parameter_fault(const RuleFill& fill, const Dtype& dtype) {
  const auto whole = [&](std::string_view name) {
    return std::floor(fill.parameter(name)) == fill.parameter(name);
  };
  if (fill.rule == "arange" && fill.parameter("divide") == 0) return "divide must not be 0";
  if (fill.rule == "integers") {
    if (!whole("low") || !whole("high") || fill.parameter("low") >= fill.parameter("high"))
      return "low and high must be integers, low < high";
    if (std::fabs(fill.parameter("low")) > 0x1p53 || std::fabs(fill.parameter("high")) > 0x1p53)
      return "low and high must be within 2^53";
  }
  if (fill.rule == "small_integers" && (!whole("magnitude") || fill.parameter("magnitude") < 0 ||
                                        fill.parameter("magnitude") > 0x1p31)) {
    return "magnitude must be an integer from 0 to 2^31";
  }
  if (fill.rule == "powers_of_two" &&
      (!whole("least") || !whole("greatest") ||
       fill.parameter("least") > fill.parameter("greatest") ||
       std::fabs(fill.parameter("least")) > 1100 || std::fabs(fill.parameter("greatest")) > 1100)) {
    return "least and greatest must be integers within 1100, least <= greatest";
  }
  if ((fill.rule == "kaiming" || fill.rule == "xavier") && fill.parameter("fan_in") < 1)
    return "fan_in must be at least 1";
  if (fill.rule == "all_bits" && dtype.bytes > 2)
    return fmt::format("{} has more than 16 bits", dtype.name);
  if (dtype.kind == NumberKind::opaque && fill.rule != "all_bits" && fill.rule != "constant") {
    return fmt::format("{} has no numbers: use all_bits or values of bits", dtype.name);
  }
  return "";
}

void decode_fill(Reader& reader, const Node& node, TensorSpec& spec) {
  std::vector<std::string> names;
  for (const RuleInfo& rule : fill_rules()) names.emplace_back(rule.name);
  RuleFill fill;
  std::optional<Node> parameters;
  if (node->is_string()) {
    fill.rule = node->get<std::string>();
  } else if (node->is_object()) {
    for (const auto& [key, value] : node->items()) {
      if (key == "seed") continue;
      if (!fill.rule.empty()) {
        reader.error(child_pointer(node.pointer, key),
                     fmt::format("found a second rule `{}`, expected one", one_line(key, 60)), "",
                     true);
        return;
      }
      fill.rule = key;
      parameters = reader.child(node, key);
    }
    if (const auto seed = reader.child(node, "seed")) {
      fill.seed = static_cast<std::uint64_t>(
          reader.integer(*seed, 0, INT64_MAX, "a seed of 0 or more").value_or(0));
    }
  } else {
    reader.mismatch(node, "the name of a fill rule, or an object with one", suggestion("", names));
    return;
  }
  const RuleInfo* rule = nullptr;
  for (const RuleInfo& candidate : fill_rules()) {
    if (candidate.name == fill.rule) rule = &candidate;
  }
  if (rule == nullptr) {
    reader.error(parameters ? parameters->pointer : node.pointer,
                 fmt::format("found the unknown fill rule `{}`", one_line(fill.rule, 60)),
                 suggestion(fill.rule, names), parameters.has_value());
    return;
  }
  if (node->is_object() && node->contains("seed") && !rule->seeded) {
    reader.error(child_pointer(node.pointer, "seed"),
                 fmt::format("found a seed, but `{}` draws no random numbers", rule->name), "",
                 true);
  }
  const bool direct = parameters && rule->name == "constant" && (*parameters)->is_number();
  std::vector<std::string> known;
  for (const RuleParameter& parameter : rule->parameters) known.emplace_back(parameter.name);
  if (parameters && !direct) {
    if (!(*parameters)->is_object() || ((*parameters)->empty() && node->size() == 1)) {
      reader.mismatch(*parameters, known.empty()
                                       ? fmt::format("no parameters: write \"{}\"", rule->name)
                                       : fmt::format("an object with {}", enumerate(known)));
      return;
    }
    for (const auto& [key, value] : (*parameters)->items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        reader.error(
            child_pointer(parameters->pointer, key),
            fmt::format("found the unknown parameter `{}` of `{}`", one_line(key, 60), rule->name),
            suggestion(key, known), true);
      }
    }
  }
  for (const RuleParameter& parameter : rule->parameters) {
    double value =
        parameter.from_shape ? shape_parameter(parameter.name, spec.shape) : parameter.fallback;
    if (direct) {
      value = (*parameters)->get<double>();
    } else if (parameters) {
      if (const auto given = reader.child(*parameters, parameter.name))
        value = reader.number(*given).value_or(value);
    }
    fill.parameters.emplace_back(parameter.name, value);
  }
  if (const std::string fault = parameter_fault(fill, *spec.dtype); !fault.empty()) {
    reader.error(parameters ? parameters->pointer : node.pointer,
                 fmt::format("the fill `{}` cannot be made: {}", rule->name, fault));
  }
  spec.fill = std::move(fill);
}

}  // namespace

std::optional<ElementBits> decode_element(Reader& reader, const Node& node, const Dtype& dtype) {
  if (node->is_object()) {
    if (const auto bits = reader.child(node, "bits"); bits && node->size() == 1)
      return decode_bits(reader, *bits, dtype);
    const auto parts = reader.child(node, "complex");
    if (!parts || node->size() != 1 || !dtype.is_complex() || !(*parts)->is_array() ||
        (*parts)->size() != 2) {
      reader.mismatch(node,
                      dtype.is_complex()
                          ? "{\"complex\": [real, imaginary]} or {\"bits\": \"0x...\"}"
                          : fmt::format("an element of {} or {{\"bits\": \"0x...\"}}", dtype.name));
      return std::nullopt;
    }
    const Dtype& part = *find_dtype(dtype.part);
    const auto real = decode_real(reader, reader.element(*parts, 0), part);
    const auto imaginary = decode_real(reader, reader.element(*parts, 1), part);
    if (!real || !imaginary) return std::nullopt;
    if (part.bytes == 8) return ElementBits{*real, *imaginary};
    return ElementBits{*real | (*imaginary << (8 * part.bytes)), 0};
  }
  switch (dtype.kind) {
    case NumberKind::boolean: {
      const auto value = reader.boolean(node);
      return value ? std::optional(ElementBits{*value ? 1U : 0U, 0}) : std::nullopt;
    }
    case NumberKind::floating: {
      const auto bits = decode_real(reader, node, dtype);
      return bits ? std::optional(ElementBits{*bits, 0}) : std::nullopt;
    }
    case NumberKind::complex: {
      const auto bits = decode_real(reader, node, *find_dtype(dtype.part));
      return bits ? std::optional(ElementBits{*bits, 0}) : std::nullopt;
    }
    case NumberKind::quantized:
      return decode_whole(reader, node, *find_dtype(dtype.part));
    case NumberKind::opaque:
      reader.mismatch(node, fmt::format("{{\"bits\": \"0x...\"}}: {} has no numbers", dtype.name));
      return std::nullopt;
    default:
      return decode_whole(reader, node, dtype);
  }
}

std::optional<TensorSpec> decode_tensor(Reader& reader, const Node& node, bool literal,
                                        const std::vector<InputSpec>& declared) {
  const int before = reader.failures();
  const bool known =
      literal
          ? reader.object(node, {"dtype", "shape", "values", "fill", "quantizer"})
          : reader.object(node, {"dtype", "shape", "strides", "offset", "storage", "fill", "values",
                                 "view_of", "requires_grad", "conj", "neg", "quantizer"});
  if (!known) return std::nullopt;
  TensorSpec spec;
  const TensorSpec* base = nullptr;
  if (const auto view_of = reader.child(node, "view_of")) {
    std::vector<std::string> names;
    const auto name = reader.text(*view_of, "the name of an input that comes before");
    for (const InputSpec& input : declared) {
      const auto* tensor = std::get_if<TensorSpec>(&input.value);
      if (tensor == nullptr || !tensor->view_of.empty()) continue;
      names.push_back(input.name);
      if (name == input.name) base = tensor;
    }
    if (name && base == nullptr) {
      reader.error(
          view_of->pointer,
          fmt::format("found `{}`, expected an input before this one that has a storage of its own",
                      one_line(*name, 60)),
          suggestion(*name, names));
    }
    if (base == nullptr) return std::nullopt;
    spec.view_of = *name;
    spec.dtype = base->dtype;
    for (const std::string_view key : {"fill", "values", "storage"}) {
      if (node->contains(std::string(key))) {
        reader.error(
            child_pointer(node.pointer, key),
            fmt::format("found `{}` in a view: the storage belongs to `{}`", key, spec.view_of), "",
            true);
      }
    }
  }
  if (const auto dtype = reader.child(node, "dtype")) {
    const std::vector<std::string> names = dtype_names();
    const auto name = reader.text(*dtype, "the name of a dtype");
    if (name) spec.dtype = find_dtype(*name);
    if (name && spec.dtype == nullptr) {
      const std::string near = nearest(*name, names);
      reader.error(dtype->pointer, fmt::format("found the unknown dtype `{}`", one_line(*name, 60)),
                   near.empty() ? "dtypes are named as in torch: float32, bfloat16, int64, ..."
                                : suggestion(*name, names));
    }
  } else if (base == nullptr) {
    reader.required(node, "dtype", "every tensor names its dtype");
  }
  if (spec.dtype == nullptr) return std::nullopt;

  const auto shape = reader.child(node, "shape");
  const auto strides = reader.child(node, "strides");
  const auto values = reader.child(node, "values");
  const auto fill = reader.child(node, "fill");
  if (shape) {
    const auto sizes = decode_sizes(reader, *shape, "a list of sizes");
    if (!sizes) return std::nullopt;
    spec.shape = *sizes;
  } else if (!values || base != nullptr) {
    reader.required(node, "shape", "a list of sizes ([] for a single element)");
    return std::nullopt;
  }
  double product = spec.dtype->bytes;
  for (const std::int64_t size : spec.shape)
    product *= static_cast<double>(std::max<std::int64_t>(size, 1));
  spec.strides = std::vector<std::int64_t>(spec.shape.size(), 0);
  if (!strides) {
    if (product > static_cast<double>(kMostBytes)) {
      reader.error(
          shape ? shape->pointer : node.pointer,
          fmt::format("found a tensor of {:.3g} bytes, expected one that a machine can hold",
                      product));
      return std::nullopt;
    }
    spec.strides = contiguous_strides(spec.shape);
  } else {
    const auto steps = decode_sizes(reader, *strides, "a list of strides, in elements");
    if (!steps) return std::nullopt;
    if (!shape || steps->size() != spec.shape.size()) {
      reader.error(strides->pointer,
                   fmt::format("found {} strides, expected {}, one for each dimension of `shape`",
                               steps->size(), spec.shape.size()));
      return std::nullopt;
    }
    spec.strides = *steps;
  }
  if (const auto offset = reader.child(node, "offset")) {
    spec.offset =
        reader.integer(*offset, 0, kMostBytes, "an offset of 0 or more, in elements").value_or(0);
  }
  const auto needed = extent(spec);
  if (!needed || *needed > kMostBytes / spec.dtype->bytes) {
    reader.error(node.pointer, "found a view that reaches further than a machine's memory");
    return std::nullopt;
  }
  spec.storage_elements = *needed;
  if (base != nullptr) {
    const std::int64_t there = base->storage_elements * base->dtype->bytes;
    if (*needed * spec.dtype->bytes > there) {
      reader.error(node.pointer,
                   fmt::format("found a view that needs {} bytes, but the storage of `{}` has {}",
                               *needed * spec.dtype->bytes, spec.view_of, there));
    }
  }
  if (const auto storage = reader.child(node, "storage"); storage && base == nullptr) {
    const auto elements = reader.integer(*storage, 0, kMostBytes / spec.dtype->bytes,
                                         "the number of elements of the storage");
    if (elements && *elements < *needed) {
      reader.error(
          storage->pointer,
          fmt::format("found a storage of {} elements, but shape, strides and offset reach {}",
                      *elements, *needed));
    }
    spec.storage_elements = elements.value_or(*needed);
  }
  if (base == nullptr) {
    if (values && fill) {
      reader.error(fill->pointer, "found both `values` and `fill`, expected one", "", true);
    } else if (values) {
      const bool plain = !strides && !node->contains("offset") && !node->contains("storage");
      decode_values(reader, *values, spec, shape.has_value(), plain);
    } else if (fill) {
      decode_fill(reader, *fill, spec);
    } else {
      reader.error(node.pointer, "the elements are missing: `values` or `fill`");
    }
  }
  if (const auto flag = reader.child(node, "requires_grad")) {
    spec.requires_grad = reader.boolean(*flag).value_or(false);
    if (spec.requires_grad && !spec.dtype->is_floating() && !spec.dtype->is_complex()) {
      reader.error(
          flag->pointer,
          fmt::format("found requires_grad on {}: only floating and complex tensors have gradients",
                      spec.dtype->name),
          "", true);
    }
  }
  if (const auto flag = reader.child(node, "conj")) {
    spec.conj = reader.boolean(*flag).value_or(false);
    if (spec.conj && !spec.dtype->is_complex())
      reader.error(flag->pointer, "found conj on a tensor that is not complex", "", true);
  }
  if (const auto flag = reader.child(node, "neg")) spec.neg = reader.boolean(*flag).value_or(false);
  quantizer_of(reader, node, spec);
  return reader.failures() == before ? std::optional(std::move(spec)) : std::nullopt;
}

}  // namespace lockstep
