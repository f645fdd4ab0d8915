#include <fmt/format.h>

#include "base/text.h"
#include "cases/decode.h"
#include "cases/fit_argument.h"
#include "program/program_json.h"

namespace lockstep {

Scope::Name* Scope::find(std::string_view name) {
  for (auto& [key, value] : names) {
    if (key == name) return &value;
  }
  return {};
}

std::vector<std::string> Scope::known() const {
  std::vector<std::string> result;
  for (const auto& [key, value] : names) result.push_back(key);
  return result;
}

bool valid_name(std::string_view text) { return text.size() <= 64 && is_name(text); }

std::optional<std::string> decode_reference(Reader& reader, const Node& node, Scope& scope) {
  const auto text = reader.text(node, "a reference, such as \"%x\"");
  if (!text) return std::nullopt;
  if (!text->starts_with('%')) {
    reader.mismatch(node, "a reference with its sign, such as \"%x\"");
    return std::nullopt;
  }
  const std::string name = text->substr(1);
  Scope::Name* known = scope.find(name);
  if (known == nullptr) {
    reader.error(
        node.pointer,
        fmt::format("found `%{}`, which no input or earlier step defines", one_line(name, 60)),
        reader.suggestion(name, scope.known()));
    return std::nullopt;
  }
  known->used = true;
  return name;
}

Value decode_plain_value(Reader& reader, const Node& node, Scope& scope) {
  if (node->is_null() || node->is_boolean() || node->is_number_integer())
    return *value_from_json(*node);
  if (node->is_number()) return {Float{node->get<double>()}};
  if (node->is_string()) {
    const std::string& text = node->get_ref<const std::string&>();
    if (text.starts_with("%%")) return {text.substr(1)};
    if (!text.starts_with('%')) return {text};
    const auto name = decode_reference(reader, node, scope);
    return {Ref{name.value_or("")}};
  }
  if (node->is_array()) {
    Value::List list;
    for (std::size_t i = 0; i < node->size(); ++i)
      list.push_back(decode_plain_value(reader, reader.element(node, i), scope));
    return {std::move(list)};
  }
  // Objects: what strings cannot say where no schema gives the type.
  if (node->size() == 1) {
    const Node only{&node->begin().value(), child_pointer(node.pointer, node->begin().key())};
    const std::string& key = node->begin().key();
    if (key == "dtype" || key == "device" || key == "layout" || key == "memory_format" ||
        key == "float" || key == "complex") {
      std::string why;
      const std::string type = key == "dtype"           ? "ScalarType"
                               : key == "device"        ? "Device"
                               : key == "layout"        ? "Layout"
                               : key == "memory_format" ? "MemoryFormat"
                               : key == "float"         ? "float"
                                                        : "Scalar";
      if (auto fitted = fit_argument(key == "complex" ? *node : *only, type, scope, &why))
        return *fitted;
      reader.mismatch(only, key == "complex" ? "[real, imaginary]" : why);
      return {};
    }
  }
  reader.mismatch(node,
                  "a number, a string, a list, a reference, or {\"dtype\": ...}, {\"device\": "
                  "...}, {\"layout\": ...}, {\"memory_format\": ...}, {\"complex\": ...}");
  return {};
}

}  // namespace lockstep
