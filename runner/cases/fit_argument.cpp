#include "cases/fit_argument.h"

#include <algorithm>
#include <cmath>

#include "base/dtype.h"
#include "base/text.h"
#include "program/program_json.h"

namespace lockstep {
namespace {

const std::vector<std::string> kLayouts = {"strided",    "sparse_coo", "sparse_csr", "sparse_csc",
                                           "sparse_bsr", "sparse_bsc", "mkldnn",     "jagged"};
const std::vector<std::string> kMemoryFormats = {"contiguous_format", "preserve_format",
                                                 "channels_last", "channels_last_3d"};

const Scope::Name* referred(const Json& value, const Scope& scope) {
  if (!is_reference(value)) return nullptr;
  return const_cast<Scope&>(scope).find(value.get_ref<const std::string&>().substr(1));
}

Value reference(const Json& value) { return {Ref{value.get_ref<const std::string&>().substr(1)}}; }

/// None, a bool or an int, as the file has it.
Value plain(const Json& value) { return *value_from_json(value); }

/// "cpu", "cuda", "cuda:1".
bool is_device(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const bool named =
      !kind.empty() && kind.size() < 32 &&
      kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  const bool numbered = colon == std::string::npos ||
                        (colon + 1 < text.size() && text.size() - colon < 5 &&
                         text.find_first_not_of("0123456789", colon + 1) == std::string::npos);
  return named && numbered;
}

/// A complex literal of a program: {"complex": [real, imaginary]}.
std::optional<Value> complex_value(const Json& value) {
  if (!value.is_object() || value.size() != 1 || !value.contains("complex")) return std::nullopt;
  const Json& parts = value["complex"];
  if (!parts.is_array() || parts.size() != 2 || !parts[0].is_number() || !parts[1].is_number())
    return std::nullopt;
  return Value{Complex{{parts[0].get<double>()}, {parts[1].get<double>()}}};
}

std::optional<double> special_float(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  if (text == "inf") return INFINITY;
  if (text == "-inf") return -INFINITY;
  if (text == "nan") return NAN;
  return std::nullopt;
}

/// Ints, floats and the like: `type` without "?" and "[]".
std::optional<Value> fit_plain(const Json& value, const std::string& type, const Scope& scope) {
  if (is_reference(value)) {
    const Scope::Name* name = referred(value, scope);
    if (name == nullptr) return std::nullopt;
    const bool tensor_type = type == "Tensor";
    const bool scalar_type =
        type == "int" || type == "float" || type == "bool" || type == "Scalar" || type == "SymInt";
    const bool fits = name->kind == ValueKind::unknown ||
                      (tensor_type && name->kind != ValueKind::tensor_list) ||
                      (scalar_type && name->kind == ValueKind::scalar);
    return fits ? std::optional(reference(value)) : std::nullopt;
  }
  const auto special = special_float(value);
  if (type == "int" || type == "SymInt")
    return value.is_number_integer() ? std::optional(plain(value)) : std::nullopt;
  if (type == "bool") return value.is_boolean() ? std::optional(plain(value)) : std::nullopt;
  if (type == "float") {
    if (value.is_number()) return Value{Float{value.get<double>()}};
    return special ? std::optional(Value{Float{*special}}) : std::nullopt;
  }
  if (type == "Scalar" ||
      type == "Tensor") {  // a number where a Tensor is meant is a wrapped number
    if (value.is_number_integer() || value.is_boolean()) return plain(value);
    if (value.is_number()) return Value{Float{value.get<double>()}};
    if (special) return Value{Float{*special}};
    return complex_value(value);
  }
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  if (type == "str") return Value{text.starts_with("%%") ? text.substr(1) : text};
  using Word = Enumeration::Kind;
  const auto word = [&](bool known, Word kind) {
    return known ? std::optional(Value{Enumeration{kind, text}}) : std::nullopt;
  };
  if (type == "ScalarType") return word(find_dtype(text) != nullptr, Word::dtype);
  if (type == "Layout") return word(contains(kLayouts, text), Word::layout);
  if (type == "MemoryFormat") return word(contains(kMemoryFormats, text), Word::memory_format);
  if (type == "Device") return word(is_device(text), Word::device);
  return std::nullopt;
}

std::string expected_text(const std::string& type) {
  if (type == "Tensor") return "a tensor, such as \"%x\"";
  if (type == "ScalarType") return "the name of a dtype";
  if (type == "Layout") return "a layout: " + enumerate(kLayouts);
  if (type == "MemoryFormat") return "a memory format: " + enumerate(kMemoryFormats);
  if (type == "Device") return "a device, such as \"cpu\" or \"cuda:0\"";
  if (type == "float") return "a number, \"inf\", \"-inf\" or \"nan\"";
  if (type == "Tensor[]") return "a list of tensors, such as [\"%x\"]";
  if (type == "Generator?") return "null: cases are seeded by their `seed`";
  return "a value of type " + type;
}

}  // namespace

bool is_reference(const Json& value) {
  if (!value.is_string()) return false;
  const std::string& text = value.get_ref<const std::string&>();
  return text.starts_with('%') && !text.starts_with("%%");
}

std::optional<Value> fit_argument(const Json& value, const std::string& type, const Scope& scope,
                                  std::string* why) {
  *why = expected_text(type);
  if (type.ends_with("?")) {
    if (value.is_null()) return Value{};
    if (type == "Generator?") return std::nullopt;
    return fit_argument(value, type.substr(0, type.size() - 1), scope, why);
  }
  if (!type.ends_with("]")) return fit_plain(value, type, scope);
  const std::string element = type.substr(0, type.rfind('['));
  if (is_reference(value)) {
    const Scope::Name* name = referred(value, scope);
    const bool fits = name != nullptr &&
                      (name->kind == ValueKind::tensor_list || name->kind == ValueKind::unknown) &&
                      element.starts_with("Tensor");
    if (fits) return reference(value);
    // int[N] takes one int, which may be a reference to one.
  }
  if (!value.is_array()) {
    if (element == "int" || element == "float" || element == "SymInt")
      return fit_plain(value, element, scope);
    return std::nullopt;
  }
  Value::List list;
  for (const Json& item : value) {
    std::string ignored;
    auto fitted = fit_argument(item, element, scope, &ignored);
    if (!fitted || (element == "Tensor" && !is_reference(item))) return std::nullopt;
    list.push_back(std::move(*fitted));
  }
  return Value{std::move(list)};
}

}  // namespace lockstep
