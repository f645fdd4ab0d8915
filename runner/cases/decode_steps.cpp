#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "cases/decode.h"
#include "cases/resolve.h"

namespace lockstep {
namespace {

constexpr int kTwoOrMore = -2;

/// Scalar operators with the number of their operands.
const std::vector<std::pair<std::string, int>> kScalarOperators = {
    {"add", 2},   {"sub", 2},  {"mul", 2}, {"div", 2},          {"floordiv", 2},     {"mod", 2},
    {"pow", 2},   {"neg", 1},  {"abs", 1}, {"min", kTwoOrMore}, {"max", kTwoOrMore}, {"sqrt", 1},
    {"floor", 1}, {"ceil", 1}, {"eq", 2},  {"ne", 2},           {"lt", 2},           {"le", 2},
    {"gt", 2},    {"ge", 2},   {"and", 2}, {"or", 2},           {"not", 1},          {"int", 1},
    {"float", 1}, {"bool", 1}};

void remember(std::vector<std::string>& list, const std::string& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

/// Decodes the steps of one list.
class StepDecoder {
 public:
  StepDecoder(Reader& reader, const DecodeContext& context, Scope& scope, ProgramParts& parts)
      : reader_(reader), context_(context), scope_(scope), parts_(parts) {}

  void decode(const Node& step) {
    if (!step->is_object()) return reader_.mismatch(step, "a step: an object");
    constexpr std::array kKinds = {"op", "call", "tensor", "get", "set", "scalar", "grad", "with"};
    std::string kind;
    for (const char* candidate : kKinds) {
      if (!step->contains(candidate)) continue;
      if (!kind.empty()) {
        reader_.error(
            child_pointer(step.pointer, candidate),
            fmt::format("found both `{}` and `{}` in one step, expected one", kind, candidate), "",
            true);
        names(step, {}, true);
        return;
      }
      kind = candidate;
    }
    if (kind == "op") return op(step);
    if (kind == "call") return call(step);
    if (kind == "tensor") return tensor(step);
    if (kind == "get") return get(step);
    if (kind == "set") return set(step);
    if (kind == "scalar") return scalar(step);
    if (kind == "grad") return grad(step);
    if (kind == "with") return with(step);
    names(step, {}, true);
    std::string near;
    for (const auto& [key, value] : step->items()) {
      if (key != "let")
        near = suggestion(key, {"op", "call", "tensor", "get", "set", "scalar", "grad", "with"});
    }
    reader_.error(step.pointer,
                  "found a step that does nothing, expected one of `op`, `call`, `tensor`, `get`, "
                  "`set`, `scalar`, `grad`, `with`",
                  near);
  }

 private:
  std::optional<Node> arguments(const Node& step, std::string_view key) {
    const auto node = reader_.child(step, key);
    if (!node) return std::nullopt;
    const bool good = key == "args" ? (*node)->is_array() : (*node)->is_object();
    if (good) return node;
    reader_.mismatch(*node,
                     key == "args" ? "a list of arguments" : "an object of arguments by name");
    bad_ = true;
    return std::nullopt;
  }

  /// Marks every "%name" in the arguments as used; an unknown one is an error.
  void use_references(const Node& node) {
    if (node->is_string()) {
      const std::string& text = node->get_ref<const std::string&>();
      if (text.starts_with('%') && !text.starts_with("%%") &&
          !decode_reference(reader_, node, scope_))
        bad_ = true;
    } else if (node->is_array()) {
      for (std::size_t i = 0; i < node->size(); ++i) use_references(reader_.element(node, i));
    } else if (node->is_object()) {
      for (const auto& [key, value] : node->items())
        use_references({&value, child_pointer(node.pointer, key)});
    }
  }

  /// The names of `let`; null stands for a result that is not needed.
  Json names(const Node& step, std::vector<ValueKind> kinds, bool effect) {
    Json result = Json::array();
    const auto let = reader_.child(step, "let");
    if (!let) {
      if (!effect)
        reader_.error(step.pointer, "the key `let` is missing: a name for the result",
                      "a step without a result is one that changes a tensor in place");
      return result;
    }
    const bool several = (*let)->is_array();
    const std::size_t count = several ? (*let)->size() : 1;
    // A list of one tensor is unpacked, too; what is not known may be one.
    const bool only =
        count == 1 && (kinds.empty() || (kinds.size() == 1 && kinds[0] == ValueKind::tensor_list));
    if (several && count < 2 && !only) reader_.mismatch(*let, "a name, or a list of two or more");
    for (std::size_t i = 0; i < count; ++i) {
      const Node node = several ? reader_.element(*let, i) : *let;
      if (several && node->is_null()) {
        result.push_back(nullptr);
        continue;
      }
      const auto name = reader_.text(node, "a name");
      if (!name) continue;
      // Several names for one result unpack a list of tensors.
      const bool unpacked = several && kinds.size() == 1 && kinds[0] == ValueKind::tensor_list;
      const ValueKind kind = unpacked  ? ValueKind::tensor
                             : several ? (i < kinds.size() ? kinds[i] : ValueKind::unknown)
                                       : (kinds.size() == 1 ? kinds[0] : ValueKind::unknown);
      define(node, *name, kind, effect);
      result.push_back(*name);
    }
    if (several && kinds.size() > 1 && count != kinds.size()) {
      reader_.error(
          let->pointer,
          fmt::format(
              "found {} names, expected {}, one for each result (null where it is not needed)",
              count, kinds.size()));
    }
    if (!several && kinds.size() > 1) {
      reader_.error(let->pointer, fmt::format("found one name, expected a list of {}, one for each "
                                              "result (null where it is not needed)",
                                              kinds.size()));
    }
    return result;
  }

  void define(const Node& node, const std::string& name, ValueKind kind, bool effect) {
    if (!valid_name(name)) {
      reader_.mismatch(
          node, "a name: letters, digits and _, not beginning with a digit, at most 64 characters");
      return;
    }
    if (const Scope::Name* before = scope_.find(name)) {
      const int line = reader_.full() ? 0 : locate(reader_.file().text, before->pointer).line;
      reader_.error(node.pointer,
                    fmt::format("found the name `{}` for the second time; it is defined in line {}",
                                name, line));
      return;
    }
    scope_.names.emplace_back(name, Scope::Name{kind, node.pointer, effect});
  }

  void op(const Node& step) {
    reader_.object(step, {"let", "op", "args", "kwargs"});
    const Node name = *reader_.child(step, "op");
    const auto args = arguments(step, "args");
    const auto kwargs = arguments(step, "kwargs");
    if (args) use_references(*args);
    if (kwargs) use_references(*kwargs);
    if (!reader_.text(name, "the name of an operator, such as \"add.Tensor\"")) bad_ = true;
    Json out = {
        {"let", Json::array()}, {"op", ""}, {"args", Json::array()}, {"kwargs", Json::object()}};
    std::vector<ValueKind> kinds;
    bool effect = false;
    if (!bad_ && context_.registry != nullptr) {
      const auto resolved = resolve(reader_, name, args, kwargs, context_, scope_);
      if (resolved && resolved->op == nullptr) {
        if (parts_.lacking.empty()) parts_.lacking = resolved->lacking;
        effect = true;  // not known: nothing about it is complained of
      } else if (resolved) {
        out["op"] = resolved->op->name + "." + resolved->overload->name;
        out["args"] = resolved->args;
        out["kwargs"] = resolved->kwargs;
        kinds = resolved->overload->results;
        effect =
            std::any_of(resolved->overload->arguments.begin(), resolved->overload->arguments.end(),
                        [](const Argument& argument) { return argument.mutates; });
        effect = effect || kinds.empty();
        remember(parts_.operators, out["op"].get<std::string>());
      }
    } else if (!bad_) {
      const std::string text = name->get<std::string>();
      out["op"] = text.find("::") == std::string::npos ? "aten::" + text : text;
      if (args) out["args"] = plain_list(*args);
      if (kwargs) out["kwargs"] = plain_object(*kwargs);
      effect = !step->contains("let") || text.substr(0, text.find('.')).ends_with('_');
      remember(parts_.operators, out["op"].get<std::string>());
    }
    out["let"] = names(step, kinds, effect);
    const auto let = reader_.child(step, "let");
    const bool only =
        let && (*let)->is_array() && out["let"].size() == 1 && out["let"][0].is_string();
    const Json name_of_only = only ? out["let"][0] : Json();
    if (only) out["let"][0] = name_of_only.get<std::string>() + "__list";
    parts_.steps.push_back(out);
    if (only) {
      parts_.steps.push_back({{"let", Json::array({name_of_only})},
                              {"get", {{"ref", out["let"][0]}}},
                              {"index", Json::array({0})}});
    }
    bad_ = false;
  }

  /// Arguments without the knowledge of a schema.
  Json plain_list(const Node& args) {
    Json list = Json::array();
    for (std::size_t i = 0; i < args->size(); ++i)
      list.push_back(decode_plain_value(reader_, reader_.element(args, i), scope_));
    return list;
  }
  Json plain_object(const Node& kwargs) {
    Json object = Json::object();
    for (const auto& [key, value] : kwargs->items()) {
      const std::string pointer = child_pointer(kwargs.pointer, key);
      if (!valid_name(key))
        reader_.error(
            pointer, fmt::format("found `{}`, expected the name of an argument", one_line(key, 60)),
            "", true);
      object[key] = decode_plain_value(reader_, {&value, pointer}, scope_);
    }
    return object;
  }

  void call(const Node& step) {
    reader_.object(step, {"let", "call", "args", "kwargs"});
    const Node name = *reader_.child(step, "call");
    const auto function =
        reader_.text(name, "the name of a public function, such as \"torch.nn.functional.relu\"");
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    if (function && (!function->starts_with("torch.") ||
                     function->find_first_not_of(kLetters) != std::string::npos)) {
      reader_.mismatch(name, "a dotted name that begins with `torch.`",
                       "allowed is what torch.overrides.get_overridable_functions() lists");
    }
    Json out = {{"let", Json::array()},
                {"call", function.value_or("")},
                {"args", Json::array()},
                {"kwargs", Json::object()}};
    if (const auto args = arguments(step, "args")) out["args"] = plain_list(*args);
    if (const auto kwargs = arguments(step, "kwargs")) out["kwargs"] = plain_object(*kwargs);
    if (function) remember(parts_.operators, *function);
    out["let"] = names(step, {}, !step->contains("let") || (function && function->ends_with('_')));
    parts_.steps.push_back(std::move(out));
    bad_ = false;
  }

  void tensor(const Node& step) {
    reader_.object(step, {"let", "tensor"});
    const Node node = *reader_.child(step, "tensor");
    const auto spec = decode_tensor(reader_, node, true, {});
    const Json let = names(step, {ValueKind::tensor}, false);
    if (!spec) return;
    parts_.steps.push_back({{"let", let}, {"tensor", {{"literal", parts_.literals.size()}}}});
    parts_.literals.push_back(*spec);
  }

  void get(const Node& step) {
    reader_.object(step, {"let", "get"});
    const auto indexed = decode_indexed(reader_, *reader_.child(step, "get"), scope_);
    const Json let = names(step, {ValueKind::unknown}, false);
    if (indexed)
      parts_.steps.push_back(
          {{"let", let}, {"get", {{"ref", indexed->name}}}, {"index", indexed->items}});
  }

  /// What is assigned or computed with: a reference or a number, which "-inf" is, too.
  Json number(const Node& node) {
    std::string why;
    if (node->is_string() && !node->get_ref<const std::string&>().starts_with('%')) {
      if (auto fitted = fit_argument(*node, "float", scope_, &why)) return *fitted;
    } else if (!node->is_null() && !node->is_array()) {
      return decode_plain_value(reader_, node, scope_);
    }
    reader_.mismatch(node, "a number, \"inf\", \"-inf\", \"nan\" or a reference, such as \"%x\"");
    return nullptr;
  }

  void set(const Node& step) {
    reader_.object(step, {"set", "to"});
    const auto indexed = decode_indexed(reader_, *reader_.child(step, "set"), scope_);
    const auto to = reader_.required(step, "to", "the value to assign");
    const Json value = to ? number(*to) : Json();
    if (indexed) {
      parts_.steps.push_back({{"let", Json::array()},
                              {"set", {{"ref", indexed->name}}},
                              {"index", indexed->items},
                              {"to", value}});
    }
  }

  void scalar(const Node& step) {
    reader_.object(step, {"let", "scalar"});
    const Node node = *reader_.child(step, "scalar");
    Json out = Json::array();
    std::vector<std::string> known;
    for (const auto& [name, operands] : kScalarOperators) known.push_back(name);
    if (reader_.list(node, "a list: an operator and its operands, such as [\"mul\", \"%n\", 2]")) {
      if (node->empty()) {
        reader_.mismatch(node, "an operator and its operands");
      } else if (const auto name =
                     reader_.word(reader_.element(node, 0), known, "a scalar operator")) {
        out.push_back(*name);
        const auto entry = std::find_if(kScalarOperators.begin(), kScalarOperators.end(),
                                        [&](const auto& each) { return each.first == *name; });
        const int operands = static_cast<int>(node->size()) - 1;
        const bool more = entry->second == kTwoOrMore;
        if (more ? operands < 2 : operands != entry->second) {
          reader_.error(node.pointer,
                        fmt::format("found {} operands of `{}`, expected {}", operands, *name,
                                    more ? "two or more" : std::to_string(entry->second)));
        }
        for (std::size_t i = 1; i < node->size(); ++i)
          out.push_back(number(reader_.element(node, i)));
      }
    }
    const Json let = names(step, {ValueKind::scalar}, false);
    parts_.steps.push_back({{"let", let}, {"scalar", out}});
  }

  Json references(const Node& parent, std::string_view key) {
    Json result = Json::array();
    const auto node = reader_.required(parent, key, "a list of references, such as [\"%y\"]");
    if (!node) return result;
    const bool several = (*node)->is_array();
    for (std::size_t i = 0; i < (several ? (*node)->size() : 1); ++i) {
      if (const auto name =
              decode_reference(reader_, several ? reader_.element(*node, i) : *node, scope_))
        result.push_back({{"ref", *name}});
    }
    if (result.empty() && several && (*node)->empty())
      reader_.mismatch(*node, "at least one reference");
    return result;
  }

  void grad(const Node& step) {
    reader_.object(step, {"let", "grad"});
    const Node node = *reader_.child(step, "grad");
    if (!reader_.object(node, {"of", "wrt", "with", "create_graph"})) return;
    Json out = {{"of", references(node, "of")},
                {"wrt", references(node, "wrt")},
                {"with", nullptr},
                {"create_graph", false}};
    if (node->contains("with")) out["with"] = references(node, "with");
    if (const auto create = reader_.child(node, "create_graph"))
      out["create_graph"] = reader_.boolean(*create).value_or(false);
    if (!out["with"].is_null() && out["with"].size() != out["of"].size()) {
      reader_.error(child_pointer(node.pointer, "with"),
                    fmt::format("found {} tensors, expected {}, one for each of `of`",
                                out["with"].size(), out["of"].size()));
    }
    const Json let =
        names(step, std::vector<ValueKind>(out["wrt"].size(), ValueKind::tensor), false);
    parts_.steps.push_back({{"let", let}, {"grad", out}});
  }

  void with(const Node& step) {
    reader_.object(step, {"with", "steps"});
    const Json context = decode_context(reader_, *reader_.child(step, "with"));
    Json outer = std::exchange(parts_.steps, Json::array());
    if (const auto steps = reader_.required(step, "steps", "the steps under the context")) {
      decode_steps(reader_, *steps, context_, scope_, parts_);
    }
    outer.push_back({{"with", context}, {"steps", std::move(parts_.steps)}});
    parts_.steps = std::move(outer);
  }

  Reader& reader_;
  const DecodeContext& context_;
  Scope& scope_;
  ProgramParts& parts_;
  bool bad_ = false;
};

}  // namespace

Scope::Name* Scope::find(std::string_view name) {
  for (auto& [key, value] : names) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::vector<std::string> Scope::known() const {
  std::vector<std::string> result;
  for (const auto& [key, value] : names) result.push_back(key);
  return result;
}

bool valid_name(std::string_view text) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !text.empty() && text.size() <= 64 &&
         text.find_first_not_of(kLetters) == std::string_view::npos &&
         !(text.front() >= '0' && text.front() <= '9');
}

Json wire_float(double value) {
  if (std::isnan(value)) return {{"float", "nan"}};
  if (std::isinf(value)) return {{"float", value < 0 ? "-inf" : "inf"}};
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, std::fabs(value), std::chars_format::hex);
  return {{"float", (std::signbit(value) ? "-0x" : "0x") + std::string(buffer, end)}};
}

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

Json decode_plain_value(Reader& reader, const Node& node, Scope& scope) {
  if (node->is_null() || node->is_boolean() || node->is_number_integer()) return *node;
  if (node->is_number()) return wire_float(node->get<double>());
  if (node->is_string()) {
    const std::string& text = node->get_ref<const std::string&>();
    if (text.starts_with("%%")) return {{"str", text.substr(1)}};
    if (!text.starts_with('%')) return {{"str", text}};
    const auto name = decode_reference(reader, node, scope);
    return {{"ref", name.value_or("")}};
  }
  if (node->is_array()) {
    Json list = Json::array();
    for (std::size_t i = 0; i < node->size(); ++i)
      list.push_back(decode_plain_value(reader, reader.element(node, i), scope));
    return list;
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
      return nullptr;
    }
  }
  reader.mismatch(node,
                  "a number, a string, a list, a reference, or {\"dtype\": ...}, {\"device\": "
                  "...}, {\"layout\": ...}, {\"memory_format\": ...}, {\"complex\": ...}");
  return nullptr;
}

void decode_steps(Reader& reader, const Node& node, const DecodeContext& context, Scope& scope,
                  ProgramParts& parts) {
  if (!reader.list(node, "a list of steps")) return;
  for (std::size_t i = 0; i < node->size(); ++i)
    StepDecoder(reader, context, scope, parts).decode(reader.element(node, i));
}

}  // namespace lockstep
