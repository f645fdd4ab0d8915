#include <fmt/format.h>

#include "base/text.h"
#include "cases/decode.h"
#include "cases/fit_argument.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostCalls = 100;

/// {"int": 3}, {"float": 0.5}, {"bool": true}.
std::optional<Value> decode_scalar(Reader& reader, const Node& input) {
  for (const std::string_view kind : {"int", "float", "bool"}) {
    const auto value = reader.child(input, kind);
    if (!value) continue;
    reader.object(input, {kind});
    if (kind == "bool") return Value{reader.boolean(*value).value_or(false)};
    if (kind == "int")
      return Value{reader.integer(*value, INT64_MIN, INT64_MAX, "an integer").value_or(0)};
    std::string why;  // with an empty scope, for an input refers to nothing
    if (auto fitted = fit_argument(**value, "float", {}, &why)) return fitted;
    reader.mismatch(*value, why);
    return Value{};
  }
  return std::nullopt;
}

/// The inputs of one call.
CallSpec decode_inputs(Reader& reader, const Node& node) {
  CallSpec call;
  if (!node->is_object()) {
    reader.mismatch(node, "an object of inputs by name");
    return call;
  }
  for (const auto& [name, value] : node->items()) {
    const Node input{&value, child_pointer(node.pointer, name)};
    if (!valid_name(name)) {
      reader.error(input.pointer,
                   fmt::format("found the name `{}`, expected letters, digits and _, not "
                               "beginning with a digit, at most 64 characters",
                               one_line(name, 60)),
                   "", true);
      continue;
    }
    if (auto scalar = decode_scalar(reader, input)) {
      call.inputs.push_back({name, std::move(*scalar)});
    } else if (auto tensor = decode_tensor(reader, input, false, call.inputs)) {
      call.inputs.push_back({name, std::move(*tensor)});
    } else {
      call.inputs.push_back({name, Value{}});  // known, so that only its own fault is told
    }
  }
  return call;
}

}  // namespace

std::vector<CallSpec> decode_calls(Reader& reader, const Node& root,
                                   const std::function<void(const CallSpec&)>& define) {
  static const Json nothing = Json::object();
  const Node node = reader.child(root, "inputs").value_or(Node{&nothing, ""});
  std::vector<CallSpec> result;
  // Where calls are wrong, so that steps find the names.
  const auto names_only = [&] {
    define(decode_inputs(reader, node));
    return result;
  };
  const auto calls = reader.child(root, "calls");
  if (!calls) {
    result.push_back(decode_inputs(reader, node));
    define(result.front());
    return result;
  }
  if (!reader.list(*calls, "a list of calls, each an object of what its inputs have otherwise"))
    return names_only();
  if ((*calls)->empty()) reader.mismatch(*calls, "at least one call");
  if ((*calls)->size() > kMostCalls) {  // each copies the inputs
    reader.error(calls->pointer,
                 fmt::format("found {} calls, expected at most {}", (*calls)->size(), kMostCalls));
    return names_only();
  }
  const int before = reader.failures();
  std::vector<Json> merged;
  merged.reserve((*calls)->size());  // nodes point into it
  for (std::size_t i = 0; i < (*calls)->size(); ++i) {
    const Node call = reader.element(*calls, i);
    merged.push_back(*node);
    if (!call->is_object()) {
      reader.mismatch(call, "an object of inputs by name");
      continue;
    }
    for (const auto& [name, changes] : call->items()) {
      const std::string pointer = child_pointer(call.pointer, name);
      if (!merged.back().contains(name) || !merged.back()[name].is_object() ||
          !changes.is_object()) {
        reader.error(
            pointer,
            fmt::format(
                "found `{}`, expected the name of an input with an object of what is otherwise",
                one_line(name, 60)),
            "", true);
        continue;
      }
      for (const auto& [key, value] : changes.items()) merged.back()[name][key] = value;
    }
    if (reader.failures() > before) continue;
    // What is wrong with a merged input is shown at the call that made it.
    const int calls_before = reader.failures();
    CallSpec decoded = decode_inputs(reader, {&merged.back(), node.pointer});
    if (reader.failures() > calls_before)
      reader.error(call.pointer, "with these changes the inputs above do not fit");
    if (i == 0) define(decoded);
    result.push_back(std::move(decoded));
  }
  if (result.empty()) return names_only();
  return result;
}

}  // namespace lockstep
