#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

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

/// Faults by place and message.
using Faults = std::set<std::pair<std::string, std::string>>;

/// What is wrong with the inputs before a call changes them.
Faults faults_of_inputs(const Reader& reader, const Node& inputs) {
  Diagnostics found;
  Reader aside(reader.file(), found);
  decode_inputs(aside, inputs);
  Faults faults;
  for (Diagnostic& each : found) faults.emplace(each.pointer, each.message);
  return faults;
}

/// What says where the elements of a tensor come from. An input has one of these at a time, so an
/// input may be a view in one call and a tensor of its own in another.
constexpr std::array<std::string_view, 5> kSources = {"fill", "values", "file", "view_of",
                                                      "zero_tensor"};

/// `input` with the changes of a call.
void change(Json& input, const Json& changes) {
  const auto named = [&](std::string_view key) { return changes.contains(key); };
  if (std::any_of(kSources.begin(), kSources.end(), named)) {
    for (const std::string_view key : kSources) input.erase(std::string(key));
    input.erase("except");  // which belongs to the fill
  }
  if (named("view_of") || named("zero_tensor")) input.erase("storage");
  for (const auto& [key, value] : changes.items()) input[key] = value;
}

/// Says at a call, `pointer`, what is wrong with its inputs, but for the faults that they have
/// without its changes.
auto at_call(const Json& call, const std::string& pointer, const Faults& before) {
  return [&call, pointer, &before](std::string& where, std::string& message) {
    constexpr std::string_view kInputs = "/inputs/";
    if (!where.starts_with(kInputs) || before.contains({where, message})) return;
    const std::string below = where.substr(kInputs.size() - 1);
    const std::string input = below.substr(1, below.find('/', 1) - 1);
    message = fmt::format("with these changes the input `{}` does not fit: {}", input, message);
    where = pointer;
    // As near as the call has it: the value that is wrong, or the input.  Names have nothing that a
    // pointer escapes; what has is no name and is wrong without a change.
    if (call.contains(input)) where += "/" + input;
    const std::string rest = below.substr(1 + input.size());
    const std::string key = rest.substr(0, rest.find('/', 1));
    if (!key.empty() && call.contains(Json::json_pointer("/" + input + key))) where += rest;
  };
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
  const Faults faults = faults_of_inputs(reader, node);
  std::vector<Json> merged;
  merged.reserve((*calls)->size());  // nodes point into it
  for (std::size_t i = 0; i < (*calls)->size(); ++i) {
    const Node call = reader.element(*calls, i);
    const int before = reader.failures();
    merged.push_back(*node);
    if (!call->is_object()) {
      reader.mismatch(call, "an object of inputs by name");
      continue;
    }
    // An input of that name stays one: then a call cannot have a context.
    const auto context = (*node).contains("context") ? std::nullopt : reader.child(call, "context");
    for (const auto& [name, changes] : call->items()) {
      if (context && name == "context") continue;
      if (changes.is_object() && changes.contains("constant")) {
        reader.error(child_pointer(child_pointer(call.pointer, name), "constant"),
                     "found `constant` in a call: what a program closes over is so in every call",
                     "say it in `inputs`", true);
        continue;
      }
      if (merged.back().contains(name) && merged.back()[name].is_object() && changes.is_object()) {
        change(merged.back()[name], changes);
        continue;
      }
      std::vector<std::string> names;
      for (const auto& [known, input] : node->items()) names.push_back(known);
      reader.error(
          child_pointer(call.pointer, name),
          fmt::format(
              "found `{}`, expected the name of an input with an object of what is otherwise",
              one_line(name, 60)),
          contains(names, name) ? "" : reader.suggestion(name, names), true);
    }
    if (reader.failures() > before) continue;
    reader.retell(at_call(*call, call.pointer, faults));
    CallSpec decoded = decode_inputs(reader, {&merged.back(), node.pointer});
    reader.retell(nullptr);
    if (context) decoded.context = decode_context(reader, *context, ContextOf::calls);
    if (result.empty()) define(decoded);
    result.push_back(std::move(decoded));
  }
  if (result.empty()) return names_only();
  return result;
}

}  // namespace lockstep
