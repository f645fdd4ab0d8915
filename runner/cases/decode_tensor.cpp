#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cases/decode.h"

namespace lockstep {
namespace {

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const Dtype& dtype : all_dtypes()) names.emplace_back(dtype.name);
  return names;
}

std::optional<std::vector<std::int64_t>> decode_sizes(Reader& reader, const Node& node,
                                                      std::string_view list,
                                                      std::string_view element) {
  if (!reader.list(node, list)) return std::nullopt;
  std::vector<std::int64_t> sizes;
  bool good = true;
  for (std::size_t i = 0; i < node->size(); ++i) {
    const auto size = reader.integer(reader.element(node, i), 0, kMostTensorBytes, element);
    good = good && size.has_value();
    sizes.push_back(size.value_or(0));
  }
  return good ? std::optional(sizes) : std::nullopt;
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

/// A zero tensor has no memory, so nothing can describe it.
void check_zero_tensor(Reader& reader, const Node& node) {
  for (const std::string_view key : {"values", "fill", "file", "except", "strides", "offset",
                                     "storage", "view_of", "conj", "neg", "quantizer"}) {
    if (reader.child(node, key)) {
      reader.error(child_pointer(node.pointer, key),
                   fmt::format("found `{}` beside `zero_tensor`, which is contiguous zeros "
                               "without memory",
                               key),
                   "remove one of them", true);
    }
  }
}

/// The input whose storage a view takes; null, with an error, where there is none of that name.
const TensorSpec* decode_base(Reader& reader, const Node& node, const Node& view_of,
                              const std::vector<InputSpec>& declared, TensorSpec& spec) {
  const TensorSpec* base = nullptr;
  std::vector<std::string> names;
  const auto name = reader.text(view_of, "the name of an input that comes before");
  for (const InputSpec& input : declared) {
    const auto* tensor = std::get_if<TensorSpec>(&input.value);
    if (tensor == nullptr || !tensor->view_of.empty() || tensor->zero_tensor) continue;
    names.push_back(input.name);
    if (name == input.name) base = tensor;
  }
  if (name && base == nullptr) {
    reader.error(
        view_of.pointer,
        fmt::format("found `{}`, expected an input before this one that has a storage of its own",
                    one_line(*name, 60)),
        suggestion(*name, names));
  }
  if (base == nullptr) return nullptr;
  spec.view_of = *name;
  spec.dtype = base->dtype;
  for (const std::string_view key : {"fill", "values", "file", "except", "storage"}) {
    if (node->contains(std::string(key))) {
      reader.error(
          child_pointer(node.pointer, key),
          fmt::format("found `{}` in a view: the storage belongs to `{}`", key, spec.view_of), "",
          true);
    }
  }
  return base;
}

void decode_dtype(Reader& reader, const Node& node, TensorSpec& spec) {
  const auto dtype = reader.child(node, "dtype");
  if (!dtype) {
    if (spec.view_of.empty()) reader.required(node, "dtype", "every tensor names its dtype");
    return;
  }
  const std::vector<std::string> names = dtype_names();
  const auto name = reader.text(*dtype, "the name of a dtype");
  if (!name) return;
  spec.dtype = find_dtype(*name);
  if (spec.dtype != nullptr) return;
  const std::string near = nearest(*name, names);
  reader.error(dtype->pointer, fmt::format("found the unknown dtype `{}`", one_line(*name, 60)),
               near.empty() ? "dtypes are named as in torch: float32, bfloat16, int64, ..."
                            : suggestion(*name, names));
}

/// Sizes, strides and offset.  Whether the rest can be read.
bool decode_geometry(Reader& reader, const Node& node, TensorSpec& spec) {
  const auto shape = reader.child(node, "shape");
  if (shape) {
    const auto sizes = decode_sizes(reader, *shape, "a list of sizes", "a size of 0 or more");
    if (!sizes) return false;
    spec.shape = *sizes;
  } else if (!reader.child(node, "values") || !spec.view_of.empty()) {
    reader.required(node, "shape", "a list of sizes ([] for a single element)");
    return false;
  }
  double product = spec.dtype->bytes;
  for (const std::int64_t size : spec.shape)
    product *= static_cast<double>(std::max<std::int64_t>(size, 1));
  spec.strides = std::vector<std::int64_t>(spec.shape.size(), 0);
  if (const auto strides = reader.child(node, "strides")) {
    const auto steps =
        decode_sizes(reader, *strides, "a list of strides, in elements", "a stride of 0 or more");
    if (!steps) return false;
    if (!shape || steps->size() != spec.shape.size()) {
      reader.error(strides->pointer,
                   fmt::format("found {} strides, expected {}, one for each dimension of `shape`",
                               steps->size(), spec.shape.size()));
      return false;
    }
    spec.strides = *steps;
  } else if (product > static_cast<double>(kMostTensorBytes)) {
    reader.error(shape ? shape->pointer : node.pointer,
                 fmt::format("found a tensor of {:.3g} bytes, expected one that a machine can hold",
                             product));
    return false;
  } else {
    spec.strides = contiguous_strides(spec.shape);
  }
  if (const auto offset = reader.child(node, "offset")) {
    spec.offset =
        reader.integer(*offset, 0, kMostTensorBytes, "an offset of 0 or more, in elements")
            .value_or(0);
  }
  return true;
}

/// How large the storage is; `base` is that of a view, else null.  Whether the rest can be read.
bool decode_storage(Reader& reader, const Node& node, const TensorSpec* base, TensorSpec& spec) {
  const auto needed = reach_of(spec);
  if (!needed || *needed > kMostTensorBytes / spec.dtype->bytes) {
    reader.error(node.pointer, "found a view that reaches further than a machine's memory");
    return false;
  }
  spec.storage_elements = *needed;
  if (base != nullptr) {
    const std::int64_t there = base->storage_elements * base->dtype->bytes;
    if (*needed * spec.dtype->bytes > there) {
      reader.error(node.pointer,
                   fmt::format("found a view that needs {} bytes, but the storage of `{}` has {}",
                               *needed * spec.dtype->bytes, spec.view_of, there));
    }
    return true;
  }
  if (const auto storage = reader.child(node, "storage")) {
    const auto elements = reader.integer(*storage, 0, kMostTensorBytes / spec.dtype->bytes,
                                         "the number of elements of the storage");
    if (elements && *elements < *needed) {
      reader.error(
          storage->pointer,
          fmt::format("found a storage of {} elements, but shape, strides and offset reach {}",
                      *elements, *needed));
    }
    spec.storage_elements = elements.value_or(*needed);
  }
  return true;
}

/// The elements of a tensor that is no view.
void decode_elements(Reader& reader, const Node& node, TensorSpec& spec) {
  const auto values = reader.child(node, "values");
  const auto fill = reader.child(node, "fill");
  const auto file = reader.child(node, "file");
  const auto except = reader.child(node, "except");
  if (values && fill) {
    reader.error(fill->pointer, "found both `values` and `fill`, expected one", "", true);
  } else if (file && (values || fill)) {
    reader.error(
        file->pointer,
        fmt::format("found both `{}` and `file`, expected one", values ? "values" : "fill"), "",
        true);
  } else if (file) {
    decode_file(reader, *file, spec);
  } else if (values) {
    const bool plain =
        !node->contains("strides") && !node->contains("offset") && !node->contains("storage");
    decode_values(reader, *values, spec, node->contains("shape"), plain);
  } else if (fill) {
    decode_fill(reader, *fill, spec);
  } else {
    reader.error(node.pointer,
                 "the elements are missing: `values`, `fill`, `file` or `zero_tensor`");
  }
  if (except && !fill) {
    reader.error(except->pointer, "found `except` without `fill`, whose elements it excepts", "",
                 true);
  } else if (except) {
    decode_except(reader, *except, spec);
  }
}

/// The true-or-false keys of a tensor, except `constant` and `zero_tensor`.
void decode_flags(Reader& reader, const Node& node, TensorSpec& spec) {
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
}

}  // namespace

std::optional<TensorSpec> decode_tensor(Reader& reader, const Node& node, bool literal,
                                        const std::vector<InputSpec>& declared) {
  const int before = reader.failures();
  const bool known =
      literal
          ? reader.object(node, {"dtype", "shape", "values", "fill", "file", "except", "quantizer"})
          : reader.object(node, {"dtype", "shape", "strides", "offset", "storage", "fill", "values",
                                 "file", "except", "view_of", "requires_grad", "conj", "neg",
                                 "quantizer", "zero_tensor", "constant"});
  if (!known) return std::nullopt;
  TensorSpec spec;
  const TensorSpec* base = nullptr;
  if (const auto view_of = reader.child(node, "view_of")) {
    base = decode_base(reader, node, *view_of, declared, spec);
    if (base == nullptr) return std::nullopt;
  }
  decode_dtype(reader, node, spec);
  if (spec.dtype == nullptr || !decode_geometry(reader, node, spec) ||
      !decode_storage(reader, node, base, spec)) {
    return std::nullopt;
  }
  if (const auto flag = reader.child(node, "constant"))
    spec.constant = reader.boolean(*flag).value_or(false);
  if (const auto flag = reader.child(node, "zero_tensor")) {
    spec.zero_tensor = reader.boolean(*flag).value_or(false);
    if (spec.zero_tensor) check_zero_tensor(reader, node);
  }
  if (base == nullptr && !spec.zero_tensor) decode_elements(reader, node, spec);
  decode_flags(reader, node, spec);
  decode_quantizer(reader, node, spec);
  return reader.failures() == before ? std::optional(std::move(spec)) : std::nullopt;
}

}  // namespace lockstep
