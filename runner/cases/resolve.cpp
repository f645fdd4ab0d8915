#include "cases/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/text.h"

namespace lockstep {
namespace {

const std::vector<std::string> kLayouts = {"strided",    "sparse_coo", "sparse_csr", "sparse_csc",
                                           "sparse_bsr", "sparse_bsc", "mkldnn",     "jagged"};
const std::vector<std::string> kMemoryFormats = {"contiguous_format", "preserve_format",
                                                 "channels_last", "channels_last_3d"};

/// "%x"; "%%x" is the string "%x".
bool is_reference(const Json& value) {
  if (!value.is_string()) return false;
  const std::string& text = value.get_ref<const std::string&>();
  return text.starts_with('%') && !text.starts_with("%%");
}

const Scope::Name* referred(const Json& value, const Scope& scope) {
  if (!is_reference(value)) return nullptr;
  return const_cast<Scope&>(scope).find(value.get_ref<const std::string&>().substr(1));
}

Json wire_reference(const Json& value) {
  return {{"ref", value.get_ref<const std::string&>().substr(1)}};
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

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
std::optional<Json> wire_complex(const Json& value) {
  if (!value.is_object() || value.size() != 1 || !value.contains("complex")) return std::nullopt;
  const Json& parts = value["complex"];
  if (!parts.is_array() || parts.size() != 2 || !parts[0].is_number() || !parts[1].is_number())
    return std::nullopt;
  return Json{
      {"complex",
       {wire_float(parts[0].get<double>())["float"], wire_float(parts[1].get<double>())["float"]}}};
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
std::optional<Json> fit_plain(const Json& value, const std::string& type, const Scope& scope) {
  if (is_reference(value)) {
    const Scope::Name* name = referred(value, scope);
    if (name == nullptr) return std::nullopt;
    const bool tensor_type = type == "Tensor";
    const bool scalar_type =
        type == "int" || type == "float" || type == "bool" || type == "Scalar" || type == "SymInt";
    const bool fits = name->kind == ValueKind::unknown ||
                      (tensor_type && name->kind != ValueKind::tensor_list) ||
                      (scalar_type && name->kind == ValueKind::scalar);
    return fits ? std::optional(wire_reference(value)) : std::nullopt;
  }
  const auto special = special_float(value);
  if (type == "int" || type == "SymInt")
    return value.is_number_integer() ? std::optional(value) : std::nullopt;
  if (type == "bool") return value.is_boolean() ? std::optional(value) : std::nullopt;
  if (type == "float") {
    if (value.is_number()) return wire_float(value.get<double>());
    return special ? std::optional(wire_float(*special)) : std::nullopt;
  }
  if (type == "Scalar" ||
      type == "Tensor") {  // a number where a Tensor is meant is a wrapped number
    if (value.is_number_integer() || value.is_boolean()) return value;
    if (value.is_number()) return wire_float(value.get<double>());
    if (special) return wire_float(*special);
    return wire_complex(value);
  }
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  if (type == "str") return Json{{"str", text.starts_with("%%") ? text.substr(1) : text}};
  if (type == "ScalarType")
    return find_dtype(text) != nullptr ? std::optional(Json{{"dtype", text}}) : std::nullopt;
  if (type == "Layout")
    return contains(kLayouts, text) ? std::optional(Json{{"layout", text}}) : std::nullopt;
  if (type == "MemoryFormat")
    return contains(kMemoryFormats, text) ? std::optional(Json{{"memory_format", text}})
                                          : std::nullopt;
  if (type == "Device")
    return is_device(text) ? std::optional(Json{{"device", text}}) : std::nullopt;
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

/// How one overload takes the arguments of a step.
struct Attempt {
  const Overload* overload = nullptr;
  Json args = Json::array();
  Json kwargs = Json::object();
  int defaults = 0;
  int wrapped = 0;    ///< numbers given for tensors
  int scalars = 0;    ///< arguments given for a Scalar
  std::string fault;  ///< empty: it fits
  std::string pointer;
  std::string hint;
};

/// int[N] takes one int for all; a list without a length does not.
bool one_for_many(const Argument& argument, const Json& fitted) {
  const bool numbers = argument.type.starts_with("int[") || argument.type.starts_with("float[");
  return numbers && argument.list_size == 0 && !fitted.is_array() && !fitted.is_null();
}

Attempt attempt(const Overload& overload, const std::optional<Node>& args,
                const std::optional<Node>& kwargs, const Reader& reader, const Scope& scope) {
  Attempt result;
  result.overload = &overload;
  std::vector<bool> given(overload.arguments.size(), false);
  const auto take = [&](std::size_t index, const Node& node, bool positional) {
    const Argument& argument = overload.arguments[index];
    std::string why;
    auto fitted = fit_argument(*node, argument.type, scope, &why);
    if (fitted && one_for_many(argument, *fitted)) {
      fitted.reset();
      why = "a list";
    }
    if (!fitted) {
      if (result.fault.empty()) {
        result.fault = fmt::format("found {} for the argument `{}` of type {}, expected {}",
                                   describe_json(*node), argument.name, argument.type, why);
        result.pointer = node.pointer;
      }
      return;
    }
    if (argument.type.starts_with("Tensor") && !argument.type.ends_with("[]") &&
        !node->is_string() && !node->is_null())
      ++result.wrapped;
    if (argument.type == "Scalar" || argument.type == "Scalar?") ++result.scalars;
    given[index] = true;
    if (positional) {
      result.args.push_back(std::move(*fitted));
    } else {
      result.kwargs[argument.name] = std::move(*fitted);
    }
  };
  if (args) {
    std::size_t index = 0;
    for (std::size_t i = 0; i < (*args)->size(); ++i, ++index) {
      if (index >= overload.arguments.size() || overload.arguments[index].kwarg_only) {
        if (result.fault.empty()) {
          const bool named = index < overload.arguments.size();
          result.fault = fmt::format("found {} positional arguments, expected at most {}",
                                     (*args)->size(), index);
          result.pointer = args->pointer;
          if (named)
            result.hint = fmt::format("`{}` goes into `kwargs`", overload.arguments[index].name);
        }
        break;
      }
      take(index, reader.element(*args, i), true);
    }
  }
  if (kwargs) {
    std::vector<std::string> names;
    for (const Argument& argument : overload.arguments) names.push_back(argument.name);
    for (const auto& [key, value] : (*kwargs)->items()) {
      const std::size_t index =
          static_cast<std::size_t>(std::find(names.begin(), names.end(), key) - names.begin());
      const Node node{&value, child_pointer(kwargs->pointer, key)};
      if (index == names.size() || given[index]) {
        if (result.fault.empty()) {
          result.fault = index == names.size()
                             ? fmt::format("found the unknown argument `{}`", one_line(key, 60))
                             : fmt::format("found the argument `{}` for the second time", key);
          result.pointer = node.pointer;
          result.hint = index == names.size() ? suggestion(key, names) : "";
        }
        continue;
      }
      take(index, node, false);
    }
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]) continue;
    const Argument& argument = overload.arguments[i];
    ++result.defaults;
    if (!argument.has_default && result.fault.empty()) {
      result.fault =
          fmt::format("the argument `{}` of type {} is missing", argument.name, argument.type);
    }
  }
  return result;
}

std::string signature(const Operator& op, const Overload& overload) {
  std::string text =
      (op.name.starts_with("aten::") ? op.name.substr(6) : op.name) + "." + overload.name + "(";
  bool keyword = false;
  for (std::size_t i = 0; i < overload.arguments.size(); ++i) {
    const Argument& argument = overload.arguments[i];
    if (i > 0) text += ", ";
    if (argument.kwarg_only && !keyword) text += "*, ";
    keyword = keyword || argument.kwarg_only;
    text += argument.type + " " + argument.name + (argument.has_default ? "=..." : "");
  }
  return text + ")";
}

/// The variants of an operator that write into a tensor of the caller's, which nobody means who
/// does not name them.
bool writes_to_out(const Overload& overload) {
  return std::any_of(
      overload.arguments.begin(), overload.arguments.end(),
      [](const Argument& argument) { return argument.mutates && argument.kwarg_only; });
}

int tensor_arguments(const Overload& overload) {
  return static_cast<int>(
      std::count_if(overload.arguments.begin(), overload.arguments.end(),
                    [](const Argument& argument) { return argument.type.starts_with("Tensor"); }));
}

void report_no_fit(Reader& reader, const Node& name, const Operator& op,
                   const std::vector<Attempt>& attempts) {
  if (attempts.size() == 1) {
    const Attempt& only = attempts.front();
    const std::string form = signature(op, *only.overload);
    reader.error(only.pointer.empty() ? name.pointer : only.pointer, only.fault,
                 only.hint.empty() ? form : only.hint + "; " + form);
    return;
  }
  std::string hint = "overloads:";
  for (const Attempt& each : attempts)
    hint += "\n      " + signature(op, *each.overload) + "\n        " + each.fault;
  reader.error(name.pointer, fmt::format("no overload of `{}` takes these arguments", op.name),
               hint);
}

}  // namespace

std::optional<Json> fit_argument(const Json& value, const std::string& type, const Scope& scope,
                                 std::string* why) {
  *why = expected_text(type);
  if (type.ends_with("?")) {
    if (value.is_null()) return Json();
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
    if (fits) return wire_reference(value);
    // int[N] takes one int, which may be a reference to one.
  }
  if (!value.is_array()) {
    if (element == "int" || element == "float" || element == "SymInt")
      return fit_plain(value, element, scope);
    return std::nullopt;
  }
  Json list = Json::array();
  for (const Json& item : value) {
    std::string ignored;
    auto fitted = fit_argument(item, element, scope, &ignored);
    if (!fitted || (element == "Tensor" && !is_reference(item))) return std::nullopt;
    list.push_back(std::move(*fitted));
  }
  return list;
}

std::optional<Resolution> resolve(Reader& reader, const Node& name, const std::optional<Node>& args,
                                  const std::optional<Node>& kwargs, const DecodeContext& context,
                                  Scope& scope) {
  const Registry& registry = *context.registry;
  const std::string& text = name->get_ref<const std::string&>();
  const std::size_t dot = text.rfind('.');
  const std::string base = text.substr(0, dot);
  const Operator* op = registry.find(base);
  if (op == nullptr && context.missing_is_unsupported)
    return Resolution{.lacking = fmt::format("the operator {}", base)};
  if (op == nullptr) {
    std::string hint = reader.suggestion(base, registry.names());
    if (hint.empty() && base.find("::") != std::string::npos)
      hint = "the operators of a library of your own are known with --library FILE";
    reader.error(name.pointer, fmt::format("found the unknown operator `{}`", one_line(base, 80)),
                 std::move(hint));
    return std::nullopt;
  }
  std::vector<const Overload*> candidates;
  std::vector<std::string> overload_names;
  for (const Overload& overload : op->overloads) {
    overload_names.push_back(overload.name);
    const bool meant = dot == std::string::npos
                           ? !writes_to_out(overload) && refusal(*op, overload).empty()
                           : overload.name == text.substr(dot + 1);
    if (meant) candidates.push_back(&overload);
  }
  if (candidates.empty() && dot != std::string::npos) {
    if (context.missing_is_unsupported)
      return Resolution{.lacking = fmt::format("the overload {}", text)};
    reader.error(name.pointer,
                 fmt::format("found the unknown overload `{}` of `{}`",
                             one_line(text.substr(dot + 1), 60), op->name),
                 reader.suggestion(text.substr(dot + 1), overload_names));
    return std::nullopt;
  }
  if (candidates.empty()) {
    for (const Overload& overload : op->overloads) candidates.push_back(&overload);
  }
  const auto refused = [&](const Overload& overload) {
    const std::string why = refusal(*op, overload);
    if (!why.empty())
      reader.error(name.pointer, fmt::format("`{}.{}` is refused in case files: {}", op->name,
                                             overload.name, why));
    return !why.empty();
  };
  if (candidates.size() == 1 && refused(*candidates.front())) return std::nullopt;
  std::vector<Attempt> attempts;
  std::vector<const Attempt*> fitting;
  for (const Overload* overload : candidates)
    attempts.push_back(attempt(*overload, args, kwargs, reader, scope));
  for (const Attempt& each : attempts) {
    if (each.fault.empty()) fitting.push_back(&each);
  }
  if (fitting.empty()) {
    report_no_fit(reader, name, *op, attempts);
    return std::nullopt;
  }
  // A number for a tensor is only meant where no overload takes it for what it is: max(x, 0).
  if (std::any_of(fitting.begin(), fitting.end(),
                  [](const Attempt* each) { return each->wrapped == 0 && each->scalars == 0; })) {
    std::erase_if(fitting, [](const Attempt* each) { return each->wrapped > 0; });
  }
  const auto rank = [](const Attempt* each) {
    // Python wraps numbers for the overloads called so: x + 2 is add.Tensor.
    const std::string& called = each->overload->name;
    const int wrapped = called == "Tensor" || called == "Tensor_mode" ? 0 : each->wrapped;
    return std::tuple(each->defaults, wrapped, each->overload->name != "default",
                      -tensor_arguments(*each->overload));
  };
  std::stable_sort(fitting.begin(), fitting.end(),
                   [&](const Attempt* a, const Attempt* b) { return rank(a) < rank(b); });
  if (fitting.size() > 1 && rank(fitting[0]) == rank(fitting[1])) {
    std::string hint = "write one of:";
    for (const Attempt* each : fitting) hint += "\n      " + signature(*op, *each->overload);
    reader.error(name.pointer, fmt::format("`{}` is ambiguous with these arguments", text), hint);
    return std::nullopt;
  }
  const Attempt& best = *fitting.front();
  if (refused(*best.overload)) return std::nullopt;
  return Resolution{op, best.overload, best.args, best.kwargs, ""};
}

}  // namespace lockstep
